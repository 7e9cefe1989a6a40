#include "hoplite/runtime/replay.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <set>
#include <utility>
#include <variant>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "hoplite/base/status_macros.h"
#include "hoplite/core/node.h"
#include "hoplite/wire/event_log.h"

namespace hoplite {
namespace {

// The commands from the `first` on, a line each.
std::string TextOf(const Commands& commands, std::size_t first) {
  std::string text;
  for (std::size_t i = first; i < commands.size(); ++i) {
    absl::StrAppend(&text, "\n    ", DebugString(commands[i]));
  }
  return text.empty() ? "\n    nothing" : text;
}

std::size_t FirstDifference(const Commands& a, const Commands& b) {
  const std::size_t common = std::min(a.size(), b.size());
  for (std::size_t i = 0; i < common; ++i) {
    if (!SameCommands({a[i]}, {b[i]})) return i;
  }
  return common;
}

// A node that lives as the log says.
class ReplayedNode {
 public:
  const ReplayReport& report() const { return report_; }

  absl::Status Take(const log_record::LifeBegun& life) {
    node_.emplace(life.config);
    now_ = absl::InfinitePast();
    requests_.clear();
    ++report_.lives;
    return absl::OkStatus();
  }
  absl::Status Take(const log_record::EventHandled& step) {
    HOPLITE_RETURN_IF_ERROR(Advance(step.now));
    HOPLITE_RETURN_IF_ERROR(Accept(step.event));
    Commands commands;
    node_->Handle(step.now, step.event, commands);
    Compare(DebugString(step.event), step.commands, commands);
    return absl::OkStatus();
  }
  absl::Status Take(const log_record::TimeoutHandled& step) {
    HOPLITE_RETURN_IF_ERROR(Advance(step.now));
    Commands commands;
    node_->HandleTimeout(step.now, commands);
    Compare("HandleTimeout", step.commands, commands);
    return absl::OkStatus();
  }

 private:
  absl::Status Advance(absl::Time now) {
    if (!node_.has_value()) {
      return absl::InvalidArgumentError("the log has no configuration");
    }
    if (now < std::exchange(now_, now)) {
      return absl::InvalidArgumentError("in the log the time goes back");
    }
    return absl::OkStatus();
  }
  // Requests are the one thing that the core takes the driver's word for.
  absl::Status Accept(const Event& event) {
    return std::visit(
        [this](const auto& happened) {
          constexpr bool kBegins = requires {
            happened.request;
            happened.deadline;
          };
          if constexpr (kBegins) {
            if (!requests_.insert(happened.request).second) {
              return absl::InvalidArgumentError(
                  "the log has two requests of one number");
            }
          }
          return absl::OkStatus();
        },
        event);
  }
  void Compare(const std::string& happened, const Commands& recorded,
               const Commands& replayed) {
    ++report_.steps;
    if (SameCommands(recorded, replayed)) return;
    const std::size_t first = FirstDifference(recorded, replayed);
    report_.difference =
        absl::StrCat("step ", report_.steps, " of life ", report_.lives,
                     ", at ", absl::FormatTime(now_, absl::UTCTimeZone()),
                     ":\n  ", happened, "\n  of its commands the first ", first,
                     " are the same, then the log has", TextOf(recorded, first),
                     "\n  and the core orders", TextOf(replayed, first));
  }

  std::optional<Node> node_;
  absl::Time now_;
  std::set<RequestId> requests_;
  ReplayReport report_;
};

}  // namespace

absl::StatusOr<ReplayReport> Replay(absl::string_view log) {
  LogReader reader(log);
  ReplayedNode node;
  while (node.report().difference.empty()) {
    HOPLITE_ASSIGN_OR_RETURN(const std::optional<LogRecord> record,
                             reader.Next());
    if (!record.has_value()) break;
    HOPLITE_RETURN_IF_ERROR(std::visit(
        [&](const auto& taken) { return node.Take(taken); }, *record));
  }
  return node.report();
}

}  // namespace hoplite
