// What `hoplite bench` is asked to measure.
//
// Thread safety: values; as safe as int.
// Units: bytes, bits per second.

#ifndef HOPLITE_CLI_BENCH_OPTIONS_H_
#define HOPLITE_CLI_BENCH_OPTIONS_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "hoplite/cli/bench_fault.h"
#include "hoplite/core/config.h"

namespace hoplite::cli {

enum class Operation : std::uint8_t {
  kRoundtrip,
  kBroadcast,
  kGather,
  kReduce,
  kAllreduce,
  kAllgather,
};

absl::string_view ToString(Operation operation);
std::optional<Operation> ParseOperation(absl::string_view name);
// Reduce and allreduce, whose objects are made of f32.
bool Reduces(Operation operation);

absl::string_view ToString(Schedule schedule);
std::optional<Schedule> ParseSchedule(absl::string_view name);

struct BenchOptions {
  Operation operation = Operation::kBroadcast;
  std::uint64_t begin_bytes = 1 << 10;
  std::uint64_t end_bytes = 32 << 20;
  std::uint64_t factor = 32;
  int runs = 5;
  int warm_ups = 1;
  int nodes = 8;  // a round trip has two
  // None: loopback, as fast as this machine can.
  std::optional<std::uint64_t> link_bits_per_second;
  // A hoplited and a worker on each host, instead of embedded nodes.
  bool daemon = false;
  // A cluster that runs: its head's HOST:PORT. Else one of its own.
  std::string join;
  Schedule schedule = Schedule::kHoplite;
  // Members arrive one after another, so far apart, in random order.
  std::optional<absl::Duration> arrive;
  // In each timed run; of a broadcast, a reduce or an allreduce. A reduction
  // takes one source fewer than there are.
  std::optional<Fault> fault;
  std::uint64_t seed = 1;
  std::string congestion_control;             // empty: the kernel's default
  absl::Duration timeout = absl::Minutes(5);  // of each run
  // Broadcast only: what is sent, instead of bytes of the benchmark's own.
  std::string file;
};

// Errors: kInvalidArgument: options that do not go together, and why.
absl::Status Validate(const BenchOptions& options);

}  // namespace hoplite::cli

#endif  // HOPLITE_CLI_BENCH_OPTIONS_H_
