#include "hoplite/cli/bench_plan.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "absl/time/time.h"
#include "hoplite/base/random.h"

namespace hoplite::cli {
namespace {

// Beside a row's objects: the small ones that warm the nodes up.
constexpr std::uint64_t kStoreSlack = 16 << 20;
// What rounding up may add to an object.
constexpr std::uint64_t kObjectSlack = 4096;

// Objects that a member's store holds at once.
std::uint64_t ObjectsHeld(const BenchOptions& options, int member) {
  const auto nodes = static_cast<std::uint64_t>(options.nodes);
  switch (options.operation) {
    case Operation::kRoundtrip:
      return 2;
    case Operation::kBroadcast:
      return 1;
    case Operation::kGather:
      return member == 0 ? nodes : 1;
    case Operation::kReduce:
    case Operation::kAllreduce:
      // A source, a partial sum and the target; or, plainly, all sources. Who
      // mends a reduction begins anew beside what is still being read.
      if (options.fault.has_value()) return 5;
      return options.schedule == Schedule::kPlain && member == 0 ? nodes + 1
                                                                 : 3;
    case Operation::kAllgather:
      return nodes;
  }
  return nodes;
}

}  // namespace

std::uint64_t BucketFor(std::uint64_t bytes) {
  return std::clamp(bytes / kBucketsInMessage, kBucketBytesMin,
                    kBucketBytesMax);
}

std::vector<std::uint64_t> StoreBytesFor(const BenchOptions& options,
                                         std::uint64_t bytes) {
  std::vector<std::uint64_t> stores;
  for (int member = 0; member < options.nodes; ++member) {
    stores.push_back(ObjectsHeld(options, member) * (bytes + kObjectSlack) +
                     kStoreSlack);
  }
  // It gets the target of a reduction.
  if (options.fault.has_value()) {
    stores.push_back(bytes + kObjectSlack + kStoreSlack);
  }
  return stores;
}

std::vector<std::int64_t> DrawArrivals(const BenchOptions& options,
                                       std::uint64_t run) {
  std::vector<std::int64_t> turns(static_cast<std::size_t>(options.nodes));
  if (!options.arrive.has_value()) return turns;
  std::iota(turns.begin(), turns.end(), 0);
  Random random(options.seed + run);
  random.Shuffle(turns);
  if (options.operation == Operation::kBroadcast ||
      options.operation == Operation::kGather) {
    std::iter_swap(turns.begin(), std::ranges::find(turns, 0));
  }
  for (std::int64_t& turn : turns) {
    turn *= absl::ToInt64Nanoseconds(*options.arrive);
  }
  return turns;
}

}  // namespace hoplite::cli
