#include "hoplite/cli/bench_strike.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "hoplite/base/random.h"
#include "hoplite/base/status_macros.h"
#include "hoplite/cli/bench_spot.h"
#include "hoplite/cli/bench_watch.h"
#include "hoplite/cli/steady_clock.h"
#include "hoplite/runtime/node_report.h"

namespace hoplite::cli {
namespace {

using Json = nlohmann::json;

// Trees are there after milliseconds, and asking all costs some.
constexpr std::int64_t kLookAgainNanos = 25'000'000;
// A row of nodes that were lost elsewhere would say something else.
constexpr double kStrayPercentMax = 10;

struct Look {
  std::vector<NodeStatus> nodes;
  bool ended = true;  // all members have
};

absl::StatusOr<Look> LookAtAll(BenchCluster& cluster, absl::Time deadline) {
  HOPLITE_ASSIGN_OR_RETURN(const std::vector<Json> answers,
                           cluster.AskAll(
                               [](int) {
                                 return Json{{"do", "status"}};
                               },
                               deadline));
  Look look;
  for (const Json& answer : answers) {
    HOPLITE_ASSIGN_OR_RETURN(
        NodeReport report,
        NodeReportFromJson(answer.at("report").get<std::string>()));
    look.nodes.push_back(std::move(report.status));
    look.ended = look.ended && answer.at("ended").get<bool>();
  }
  return look;
}

// Until all others know that the node is dead.
absl::StatusOr<double> MeasureDetection(BenchCluster& cluster, int victim,
                                        NodeRef node, std::int64_t struck) {
  HOPLITE_ASSIGN_OR_RETURN(const std::vector<Json> answers,
                           cluster.AskAll(
                               [&](int member) {
                                 return member == victim ? Json()
                                                         : MissCommand(node);
                               },
                               absl::Now() + 2 * kMissTimeout));
  std::int64_t last = struck;
  for (const Json& answer : answers) {
    if (!answer.is_null()) {
      last = std::max(last, answer.at("at").get<std::int64_t>());
    }
  }
  return static_cast<double>(last - struck) / 1e6;
}

// nullopt: the stream ended before it had come so far.
absl::StatusOr<std::optional<Strike>> StrikeAt(BenchCluster& cluster,
                                               const StrikePlan& plan,
                                               const FaultSpot& spot,
                                               NodeRef victim) {
  HOPLITE_ASSIGN_OR_RETURN(
      const Json watched,
      cluster.Ask(spot.watcher, WatchCommand(spot, plan.fault.percent),
                  plan.deadline));
  if (!watched.at("reached").get<bool>()) return std::nullopt;
  const std::int64_t struck = SteadyNanos();
  HOPLITE_RETURN_IF_ERROR(cluster.Lose(spot.victim, plan.fault.kind));
  Strike strike{.victim = spot.victim, .percent = watched.at("percent")};
  HOPLITE_ASSIGN_OR_RETURN(
      strike.detect_ms, MeasureDetection(cluster, spot.victim, victim, struck));
  if (strike.percent - plan.fault.percent <= kStrayPercentMax) return strike;
  return absl::FailedPreconditionError(absl::StrFormat(
      "%s was seen at %.0f%% only: take larger objects, or a slower --link",
      ToString(plan.fault), strike.percent));
}

}  // namespace

absl::StatusOr<Strike> StrikeInRun(BenchCluster& cluster,
                                   const StrikePlan& plan) {
  Random random(plan.seed);
  for (;;) {
    HOPLITE_ASSIGN_OR_RETURN(const Look look,
                             LookAtAll(cluster, plan.deadline));
    const std::optional<FaultSpot> spot =
        FindSpot(plan.fault, plan.object, look.nodes, plan.victims, random);
    if (spot.has_value()) {
      const auto victim = static_cast<std::size_t>(spot->victim);
      HOPLITE_ASSIGN_OR_RETURN(
          const std::optional<Strike> strike,
          StrikeAt(cluster, plan, *spot, look.nodes[victim].self));
      if (strike.has_value()) return *strike;
    }
    if (look.ended) {
      return absl::FailedPreconditionError(absl::StrFormat(
          "no node was lost: the run ended before any was seen at %s, so take "
          "larger objects, or a slower --link",
          ToString(plan.fault)));
    }
    SleepUntilSteadyNanos(SteadyNanos() + kLookAgainNanos);
  }
}

}  // namespace hoplite::cli
