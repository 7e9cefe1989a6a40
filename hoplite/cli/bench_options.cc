#include "hoplite/cli/bench_options.h"

#include <iterator>

#include "absl/strings/str_cat.h"
#include "hoplite/base/status_macros.h"

namespace hoplite::cli {
namespace {

constexpr absl::string_view kOperations[] = {
    "roundtrip", "broadcast", "gather", "reduce", "allreduce", "allgather"};
constexpr std::uint64_t kElementBytes = 4;
constexpr int kNodesMax = 250;  // addresses of an emulated network

absl::Status Refuse(absl::string_view reason) {
  return absl::InvalidArgumentError(reason);
}

absl::Status ValidateSizes(const BenchOptions& options) {
  if (options.begin_bytes > options.end_bytes) {
    return Refuse("-b is above -e: no size lies between them");
  }
  if (options.factor < 2 && options.begin_bytes < options.end_bytes) {
    return Refuse("-f must be at least 2, or the sizes never reach -e");
  }
  if (!Reduces(options.operation)) return absl::OkStatus();
  for (std::uint64_t bytes = options.begin_bytes; bytes <= options.end_bytes;
       bytes *= options.factor) {
    if (bytes % kElementBytes != 0) {
      return Refuse(absl::StrCat("cannot reduce objects of ", bytes,
                                 " bytes: an f32 has 4, so choose -b and -f "
                                 "for multiples of 4"));
    }
    if (bytes == 0 || options.factor < 2) break;
  }
  return absl::OkStatus();
}

bool Has(Operation operation, FaultPlace place) {
  switch (place) {
    case FaultPlace::kNone:
      return operation == Operation::kBroadcast || Reduces(operation);
    case FaultPlace::kRelay:
      return operation == Operation::kBroadcast ||
             operation == Operation::kAllreduce;
    case FaultPlace::kHolder:
      return operation == Operation::kBroadcast;
    case FaultPlace::kLeaf:
    case FaultPlace::kInner:
    case FaultPlace::kRoot:
      return Reduces(operation);
  }
  return false;
}

absl::Status ValidateFault(const BenchOptions& options) {
  if (!options.fault.has_value()) return absl::OkStatus();
  if (!Has(options.operation, options.fault->place)) {
    return Refuse(absl::StrCat(
        "--fault: a broadcast has a relay and a holder, "
        "a reduce a leaf, an inner and a root, an "
        "allreduce all but a holder, and others none; ",
        ToString(*options.fault), " is not of ", ToString(options.operation)));
  }
  if (options.nodes < 3) {
    return Refuse("--fault needs three nodes: one is lost, and two go on");
  }
  if (options.schedule == Schedule::kPlain) {
    return Refuse("--schedule=plain has no trees, in which --fault could be");
  }
  if (options.fault->kind == FaultKind::kCut &&
      !options.link_bits_per_second.has_value()) {
    return Refuse("--fault: only a --link can be cut");
  }
  return absl::OkStatus();
}

}  // namespace

absl::string_view ToString(Operation operation) {
  return kOperations[static_cast<int>(operation)];
}

std::optional<Operation> ParseOperation(absl::string_view name) {
  for (std::size_t i = 0; i < std::size(kOperations); ++i) {
    if (name == kOperations[i]) return static_cast<Operation>(i);
  }
  return std::nullopt;
}

bool Reduces(Operation operation) {
  return operation == Operation::kReduce || operation == Operation::kAllreduce;
}

absl::string_view ToString(Schedule schedule) {
  return schedule == Schedule::kPlain ? "plain" : "hoplite";
}

std::optional<Schedule> ParseSchedule(absl::string_view name) {
  if (name == "hoplite") return Schedule::kHoplite;
  if (name == "plain") return Schedule::kPlain;
  return std::nullopt;
}

absl::Status Validate(const BenchOptions& options) {
  if (options.nodes < 2 || options.nodes > kNodesMax) {
    return Refuse(absl::StrCat("--nodes must be 2 to ", kNodesMax));
  }
  const bool roundtrip = options.operation == Operation::kRoundtrip;
  if (roundtrip && options.nodes != 2) {
    return Refuse("a round trip has two nodes");
  }
  if (options.runs < 1 || options.warm_ups < 0) {
    return Refuse("-n must be at least 1, and -w at least 0");
  }
  if (options.link_bits_per_second.has_value() && !options.join.empty()) {
    return Refuse(
        "--link makes hosts of its own, from which the cluster of --join "
        "cannot be reached: leave one of them out");
  }
  if (roundtrip && options.arrive.has_value()) {
    return Refuse("in a round trip nobody arrives late: leave out --arrive");
  }
  if (options.arrive.has_value() &&
      *options.arrive * options.nodes > options.timeout) {
    return Refuse(absl::StrCat(
        "--arrive=", absl::FormatDuration(*options.arrive), " for ",
        options.nodes, " nodes is longer than --timeout=",
        absl::FormatDuration(options.timeout), ": the last would be too late"));
  }
  if (!options.file.empty() && options.operation != Operation::kBroadcast) {
    return Refuse("only a broadcast sends a file");
  }
  HOPLITE_RETURN_IF_ERROR(ValidateFault(options));
  return ValidateSizes(options);
}

}  // namespace hoplite::cli
