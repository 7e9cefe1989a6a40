// What a row of a benchmark needs, worked out before anything runs.
//
// Thread safety: thread-safe.
// Units: bytes; nanoseconds.

#ifndef HOPLITE_CLI_BENCH_PLAN_H_
#define HOPLITE_CLI_BENCH_PLAN_H_

#include <cstdint>
#include <vector>

#include "hoplite/cli/bench_options.h"

namespace hoplite::cli {

// A row's message should be this many buckets; what is smaller says little
// about its link.
inline constexpr std::uint64_t kBucketsInMessage = 8;
// The smallest bucket that a link with large packets can do with, and the
// largest that its rate has any use for.
inline constexpr std::uint64_t kBucketBytesMin = 16 << 10;
inline constexpr std::uint64_t kBucketBytesMax = 64 << 10;

// The bucket of the links for objects of `bytes`.
std::uint64_t BucketFor(std::uint64_t bytes);

// How large each member's store has to be; of that of the member more that a
// fault brings, too.
std::vector<std::uint64_t> StoreBytesFor(const BenchOptions& options,
                                         std::uint64_t bytes);

// When each of options.nodes arrives, in nanoseconds after the start: all at
// once, or one after another in an order drawn from the seed and the run.
// Member 0 is the first where it is the one that has the object, or that
// collects.
std::vector<std::int64_t> DrawArrivals(const BenchOptions& options,
                                       std::uint64_t run);

}  // namespace hoplite::cli

#endif  // HOPLITE_CLI_BENCH_PLAN_H_
