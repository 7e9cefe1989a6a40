#include "hoplite/sim/checkers/request_checker.h"

#include <variant>

#include "absl/strings/str_cat.h"

namespace hoplite::sim {
namespace {

using Kind = RequestRecord::Kind;

// Reductions of reductions are followed so far.
constexpr int kNestingMax = 4;
// Between a deadline and the answer: nodes are not infinitely fast.
constexpr absl::Duration kSlack = absl::Milliseconds(1);

}  // namespace

void RequestChecker::Add(absl::Time now, RequestKey key,
                         absl::string_view what) {
  const RequestRecord* const record = history_->Find(key);
  violations_->Add(
      kName, now,
      absl::StrCat("request ", key.second.value(), " of ", ToString(key.first),
                   record == nullptr ? "" : " on ",
                   record == nullptr ? "" : record->object.ToHex().substr(0, 8),
                   " ", what));
}

bool RequestChecker::GoneIsDue(const ObjectId& object, int depth) const {
  if (history_->DeleteAsked(object)) return true;
  if (depth == 0) return false;
  for (RequestKey key : history_->On(object, Kind::kReduce)) {
    for (const ObjectId& source : history_->Find(key)->reduce.sources) {
      if (GoneIsDue(source, depth - 1)) return true;
    }
  }
  return false;
}

bool RequestChecker::LossIsDue(const ObjectId& object, int depth) const {
  if (faults_ || GoneIsDue(object, depth)) return true;
  for (RequestKey key : history_->On(object, Kind::kPut)) {
    const RequestRecord& put = *history_->Find(key);
    if (put.streams && put.code != absl::StatusCode::kOk) return true;
  }
  if (depth == 0) return false;
  for (RequestKey key : history_->On(object, Kind::kReduce)) {
    for (const ObjectId& source : history_->Find(key)->reduce.sources) {
      if (LossIsDue(source, depth - 1)) return true;
    }
  }
  return false;
}

std::string RequestChecker::CodeProblem(absl::Time now,
                                        const RequestRecord& record,
                                        absl::StatusCode code) const {
  switch (code) {
    case absl::StatusCode::kOk:
      return record.kind == Kind::kPut && !record.filled
                 ? "succeeds before its client has written it"
                 : "";
    case absl::StatusCode::kDeadlineExceeded:
      return now < record.deadline ? "is over its deadline before that" : "";
    case absl::StatusCode::kCancelled:
      return record.cancelled ? "" : "is cancelled by nobody";
    case absl::StatusCode::kNotFound:
      return LossIsDue(record.object, kNestingMax)
                 ? ""
                 : "says deleted of what nobody deleted";
    case absl::StatusCode::kAlreadyExists:
      return history_->On(record.object, Kind::kPut).size() +
                         history_->On(record.object, Kind::kReduce).size() <
                     2
                 ? "says that it exists, and nobody else made it"
                 : "";
    case absl::StatusCode::kDataLoss:
    case absl::StatusCode::kUnavailable:
      return LossIsDue(record.object, kNestingMax)
                 ? ""
                 : "says lost or unreachable, and nothing has failed";
    case absl::StatusCode::kResourceExhausted:
    case absl::StatusCode::kInvalidArgument:
      return "";
    default:
      return "ends with a code that no call has";
  }
}

void RequestChecker::OnCommand(absl::Time now, NodeRef node,
                               const Command& command) {
  const auto* answer = std::get_if<command::AnswerRequest>(&command);
  if (answer == nullptr) return;
  const RequestKey key{node.node, answer->request};
  const RequestRecord* const record = history_->Find(key);
  if (record == nullptr) {
    Add(now, key, "is answered, and nobody asked");
    return;
  }
  if (!answered_.insert(key).second) {
    Add(now, key, "is answered twice");
    return;
  }
  if (now > record->deadline + kSlack + slack_) {
    Add(now, key, "is answered after its deadline");
  }
  const std::string problem = CodeProblem(now, *record, answer->code);
  if (!problem.empty()) Add(now, key, problem);
  if (answer->code != absl::StatusCode::kOk && expected_.contains(key)) {
    Add(now, key,
        absl::StrCat(
            "fails without a reason: ", absl::StatusCodeToString(answer->code),
            " ", answer->detail));
  }
}

void RequestChecker::OnEnd(absl::Time now) {
  for (RequestKey key : history_->open()) Add(now, key, "is never answered");
}

}  // namespace hoplite::sim
