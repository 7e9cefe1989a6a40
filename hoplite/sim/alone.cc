#include "hoplite/sim/alone.h"

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "hoplite/sim/bounds.h"

namespace hoplite::sim {
namespace {

ObjectId Named(std::uint32_t number) {
  ObjectId::Bytes name{};
  name[0] = static_cast<std::uint8_t>(number);
  return ObjectId(name);
}

// Adds an operation that waits for all earlier ones but `beside`.
void Append(Workload& workload, std::size_t beside, Operation operation) {
  for (std::size_t i = 0; i + beside < workload.size(); ++i) {
    operation.after.push_back(i);
  }
  operation.must_succeed = true;
  workload.push_back(std::move(operation));
}

void AppendPuts(Workload& workload, std::uint32_t first, std::uint32_t count,
                std::uint64_t size) {
  for (std::uint32_t i = 0; i < count; ++i) {
    PutSpec put;
    put.node = NodeId(i + 1);
    put.object = Named(first + i);
    put.size = size;
    Operation operation;
    operation.spec = put;
    Append(workload, i, std::move(operation));
  }
}

void AppendGets(Workload& workload, std::uint32_t nodes, ObjectId object,
                std::size_t beside) {
  for (std::uint32_t i = 0; i < nodes; ++i) {
    GetSpec get;
    get.node = NodeId(i + 1);
    get.object = object;
    Operation operation;
    operation.spec = get;
    operation.start = absl::Milliseconds(1);
    Append(workload, beside + i, std::move(operation));
  }
}

}  // namespace

Workload DrawAlone(const SimulationOptions& options, std::uint64_t size_max,
                   Random& random, AloneCollective* alone) {
  constexpr std::uint64_t kMeasuredBytes = 512 << 10;
  constexpr std::uint32_t kMeasured = 1, kFirstSource = 2;
  const std::uint32_t nodes = options.node_count;
  alone->size = random.Between(1, size_max / 8) * 8;
  Workload workload;
  AppendPuts(workload, kMeasured, 1, kMeasuredBytes);
  AppendGets(workload, nodes, Named(kMeasured), 0);
  if (random.Chance(1, 2)) {
    AppendPuts(workload, kFirstSource, 1, alone->size);
    AppendGets(workload, nodes, Named(kFirstSource), 0);
    alone->operations = nodes;
    return workload;
  }
  AppendPuts(workload, kFirstSource, nodes, alone->size);
  ReduceSpec reduce;
  reduce.node = NodeId(1);
  reduce.target = Named(kFirstSource + nodes);
  reduce.count = nodes;
  for (std::uint32_t i = 0; i < nodes; ++i) {
    reduce.sources.push_back(Named(kFirstSource + i));
  }
  Operation operation;
  operation.spec = reduce;
  operation.start = absl::Milliseconds(1);
  Append(workload, 0, std::move(operation));
  AppendGets(workload, 1, reduce.target, 1);
  alone->operations = 2;
  return workload;
}

void JudgeTime(const SimulationOptions& options, const AloneCollective& alone,
               const WorkloadRunner& runner, Violations* violations) {
  const std::optional<absl::Time> end = runner.AllAnswered();
  if (!end.has_value()) return;
  const absl::Time begin =
      runner.asked(runner.size() - alone.operations).value();
  const NetworkOptions& network = options.network;
  constexpr int kRoundTrips = 8;
  const absl::Duration allowed =
      1.5 * ModelledTime(alone.size, options.node_count,
                         options.data_plane.frame_bytes_min, network) +
      kRoundTrips * 2 *
          (network.latency + network.latency_spread + options.local_delay +
           absl::Microseconds(20));
  if (*end - begin <= allowed) return;
  violations->Add("time", *end,
                  absl::StrCat("took ", absl::FormatDuration(*end - begin),
                               " for ", alone.size, " bytes; allowed are ",
                               absl::FormatDuration(allowed)));
}

}  // namespace hoplite::sim
