#include "hoplite/cli/bench_watch.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "hoplite/base/status_macros.h"
#include "hoplite/cli/steady_clock.h"
#include "hoplite/runtime/node_report.h"

namespace hoplite::cli {
namespace {

using Json = nlohmann::json;

constexpr std::int64_t kPollNanos = 1'000'000;
// All nodes are asked at once for whom they miss, at a cost to what is
// measured; so each is less often the longer it takes.
constexpr std::int64_t kFirstMissNanos = 2'000'000;
constexpr std::int64_t kMissesInWait = 20;

}  // namespace

absl::StatusOr<Json> ReportNode(Client& client) {
  HOPLITE_ASSIGN_OR_RETURN(NodeReport report, client.Report());
  report.status.members.clear();
  report.status.shards.clear();
  return Json{{"report", ToJson(report)}};
}

Json WatchCommand(const FaultSpot& spot, int percent) {
  return {{"do", "watch"},
          {"object", spot.stream.object.ToHex()},
          {"position", spot.stream.position},
          {"read", spot.read},
          {"percent", percent}};
}

absl::StatusOr<Json> WatchStream(Client& client, const Json& command) {
  const std::optional<ObjectId> object =
      ObjectId::FromHex(command.at("object").get<std::string>());
  if (!object.has_value()) {
    return absl::InvalidArgumentError("the object to watch has no id");
  }
  const PullKey stream{*object, command.at("position")};
  const bool read = command.at("read");
  const double percent = command.at("percent");
  for (;;) {
    HOPLITE_ASSIGN_OR_RETURN(const NodeReport report, client.Report());
    const auto progress = ProgressOf(report.status, stream);
    if (!progress.has_value()) return Json{{"reached", false}};
    if (progress->percent() >= percent && (!read || progress->readers > 0)) {
      return Json{{"reached", true}, {"percent", progress->percent()}};
    }
    if (progress->bytes == progress->size) return Json{{"reached", false}};
    SleepUntilSteadyNanos(SteadyNanos() + kPollNanos);
  }
}

Json MissCommand(NodeRef node) {
  return {{"do", "miss"},
          {"node", node.node.value()},
          {"incarnation", node.incarnation.value()}};
}

absl::StatusOr<Json> AwaitLoss(Client& client, const Json& command) {
  const NodeRef node{.node = NodeId(command.at("node").get<std::uint32_t>()),
                     .incarnation = Incarnation(
                         command.at("incarnation").get<std::uint64_t>())};
  const std::int64_t begin = SteadyNanos();
  for (;;) {
    HOPLITE_ASSIGN_OR_RETURN(const NodeReport report, client.Report());
    const std::int64_t now = SteadyNanos();
    if (std::ranges::find(report.status.members, node, &Member::ref) ==
        report.status.members.end()) {
      return Json{{"at", now}};
    }
    if (now - begin > absl::ToInt64Nanoseconds(kMissTimeout)) {
      return absl::DeadlineExceededError(
          absl::StrCat(ToString(node.node), " is still a member after ",
                       absl::FormatDuration(kMissTimeout)));
    }
    SleepUntilSteadyNanos(
        now + std::max(kFirstMissNanos, (now - begin) / kMissesInWait));
  }
}

}  // namespace hoplite::cli
