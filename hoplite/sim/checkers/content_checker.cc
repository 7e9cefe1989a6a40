#include "hoplite/sim/checkers/content_checker.h"

#include <algorithm>
#include <variant>

#include "absl/strings/str_cat.h"

namespace hoplite::sim {

using Kind = RequestRecord::Kind;

void ContentChecker::Add(absl::Time now, const ObjectId& object,
                         absl::string_view what) {
  violations_->Add(
      kName, now,
      absl::StrCat("object ", object.ToHex().substr(0, 8), ": ", what));
}

void ContentChecker::OnCommand(absl::Time now, NodeRef node,
                               const Command& command) {
  if (const auto* gone = std::get_if<command::ForgetMember>(&command)) {
    lost_.insert(gone->member);
  }
  if (const auto* send = std::get_if<command::Send>(&command)) {
    if (const auto* last = std::get_if<message::Final>(&send->message)) {
      MakeFinal(now, last->object, last->generation);
    }
    if (const auto* grant = std::get_if<message::Grant>(&send->message)) {
      if (grant->final) MakeFinal(now, grant->object, grant->generation);
    }
    if (const auto* whole = std::get_if<message::GrantInline>(&send->message)) {
      final_.insert(whole->object);
    }
    return;
  }
  const auto* answer = std::get_if<command::AnswerRequest>(&command);
  if (answer == nullptr || answer->code != absl::StatusCode::kOk) return;
  const RequestKey key{node.node, answer->request};
  const RequestRecord* const record = history_->Find(key);
  if (record == nullptr) return;
  if (record->kind == Kind::kGet) CheckGet(now, node, key, *answer);
  if (record->kind == Kind::kReduce) {
    CheckReduce(now, record->reduce, answer->sources);
  }
}

void ContentChecker::MakeFinal(absl::Time now, const ObjectId& object,
                               Generation generation) {
  final_.insert(object);
  if (!generation.is_target() || !lost_.empty() ||
      history_->DeleteAsked(object)) {
    return;
  }
  const auto [known, first] = final_generations_.emplace(object, generation);
  if (first || known->second == generation) return;
  Add(now, object, "a final target changes");
}

void ContentChecker::CheckGet(absl::Time now, NodeRef node, RequestKey key,
                              const command::AnswerRequest& answer) {
  const RequestRecord& record = *history_->Find(key);
  const BufferModel* const buffer =
      simulation_->store_of(node.node).Find(answer.buffer);
  if (buffer == nullptr || !buffer->machine_holds) {
    Add(now, record.object, "a Get returns a buffer that is not there");
    return;
  }
  if (!buffer->complete()) {
    Add(now, record.object,
        absl::StrCat("a Get returns ", buffer->watermark(), " bytes of ",
                     buffer->size));
    return;
  }
  if (history_->DeletedBefore(record.object, record.asked) &&
      !IsMadeAgain(record.object)) {
    Add(now, record.object, "a Get after its Delete returns it");
  }
  if (history_->On(record.object, Kind::kPut).empty() &&
      history_->On(record.object, Kind::kReduce).empty()) {
    Add(now, record.object, "a Get returns what nobody made");
  }
  if (buffer->size == 0) return;
  if (buffer->content.pieces().size() != 1) {
    Add(now, record.object, "a Get returns a mixture");
    return;
  }
  CheckBytes(now, record.object, buffer->content.pieces().front().content);
}

bool ContentChecker::IsMadeAgain(const ObjectId& object) const {
  if (lost_.empty()) return false;
  const auto is_later = [&](RequestKey key) {
    const RequestRecord& maker = *history_->Find(key);
    return !maker.answered.has_value() ||
           history_->DeletedBefore(object, *maker.answered);
  };
  return std::ranges::any_of(history_->On(object, Kind::kPut), is_later) ||
         std::ranges::any_of(history_->On(object, Kind::kReduce), is_later);
}

bool ContentChecker::Fits(const ObjectId& object, ContentId content) const {
  const auto returned = returned_.find(object);
  if (returned != returned_.end()) return returned->second == content;
  const auto reported = reported_.find(object);
  if (reported == reported_.end()) return true;
  return std::ranges::any_of(
      history_->On(object, Kind::kReduce), [&](RequestKey key) {
        const event::ReduceRequested& reduce = history_->Find(key)->reduce;
        return history_->SourcesOf(reduce, content) == reported->second;
      });
}

bool ContentChecker::IsLost(const ObjectId& object) const {
  if (lost_.empty()) return false;
  for (NodeRef node : simulation_->nodes()) {
    if (lost_.contains(node)) continue;
    const NodeStatus status = simulation_->machine(node.node).Status();
    for (const LocalObjectStatus& held : status.objects) {
      if (held.object != object || held.state != "complete") continue;
      const BufferModel* const buffer =
          simulation_->store_of(node.node).Find(held.buffer);
      if (buffer != nullptr && buffer->size > 0 && buffer->complete() &&
          Fits(object, buffer->content.At(0))) {
        return false;
      }
    }
  }
  return true;
}

void ContentChecker::Forget(const ObjectId& object) {
  returned_.erase(object);
  in_bytes_.erase(object);
  reported_.erase(object);
}

void ContentChecker::CheckBytes(absl::Time now, const ObjectId& object,
                                ContentId content) {
  const ContentTable& contents = simulation_->contents();
  if (!Fits(object, content) && IsLost(object)) Forget(object);
  const auto [known, first] = returned_.emplace(object, content);
  if (!first) {
    if (known->second != content) {
      Add(now, object,
          absl::StrCat(
              "readers get different bytes: ", contents.Describe(known->second),
              " and ", contents.Describe(content)));
    }
    return;
  }
  if (contents.IsPut(content) && contents.put(content).object == object) {
    CheckPut(now, object, content);
  } else {
    CheckResult(now, object, content);
  }
}

void ContentChecker::CheckPut(absl::Time now, const ObjectId& object,
                              ContentId content) {
  const PutContent& put = simulation_->contents().put(content);
  const RequestRecord* const record =
      history_->Find(RequestKey{put.node, put.request});
  if (record == nullptr || !record->filled) {
    Add(now, object, "a Get returns a Put that was not sealed");
  } else if (record->answered.has_value() &&
             record->code == absl::StatusCode::kAlreadyExists) {
    Add(now, object, "a Get returns a Put that was refused");
  }
}

std::string ContentChecker::ResultProblem(const event::ReduceRequested& reduce,
                                          ContentId content) const {
  const ContentTable& contents = simulation_->contents();
  const std::vector<ContentId> elements =
      contents.Elements(reduce.target, content);
  if (elements.size() != reduce.count) {
    return absl::StrCat("holds ", elements.size(), " sources, not ",
                        reduce.count);
  }
  if (std::adjacent_find(elements.begin(), elements.end()) != elements.end()) {
    return "holds a source twice";
  }
  if (!history_->SourcesOf(reduce, content).has_value()) {
    return "holds what is none of its sources";
  }
  if (!contents.IsFold(content) ||
      contents.fold(content).rule.target != reduce.target) {
    return reduce.count == 1 ? "" : "is no result";
  }
  const FoldContent& fold = contents.fold(content);
  if (fold.rule.op != reduce.op || fold.rule.type != reduce.type) {
    return "was computed by another rule";
  }
  const std::uint64_t divisor =
      reduce.op == ReduceOp::kAverage ? reduce.count : 1;
  if (fold.divisor != divisor) {
    return absl::StrCat("was divided by ", fold.divisor);
  }
  return "";
}

void ContentChecker::CheckResult(absl::Time now, const ObjectId& target,
                                 ContentId content) {
  if (!final_.contains(target)) {
    Add(now, target, "a Get returns a target that is not final");
  }
  std::string problem = "a Get returns bytes of another object";
  for (RequestKey key : history_->On(target, Kind::kReduce)) {
    const event::ReduceRequested& reduce = history_->Find(key)->reduce;
    problem = ResultProblem(reduce, content);
    if (!problem.empty()) continue;
    in_bytes_[target] = *history_->SourcesOf(reduce, content);
    Compare(now, target);
    return;
  }
  Add(now, target,
      absl::StrCat(problem, ": ", simulation_->contents().Describe(content)));
}

void ContentChecker::CheckReduce(absl::Time now,
                                 const event::ReduceRequested& reduce,
                                 const std::vector<ObjectId>& reported) {
  std::vector<ObjectId> sorted = reported;
  std::sort(sorted.begin(), sorted.end());
  const std::set<ObjectId> asked(reduce.sources.begin(), reduce.sources.end());
  if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end()) {
    Add(now, reduce.target, "a source is reported twice");
  }
  if (sorted.size() != reduce.count) {
    Add(now, reduce.target,
        absl::StrCat(sorted.size(), " sources are reported, not ",
                     reduce.count));
  }
  for (const ObjectId& source : sorted) {
    if (!asked.contains(source)) {
      Add(now, reduce.target, "what is reported is none of its sources");
    }
  }
  const auto before = reported_.find(reduce.target);
  if (before != reported_.end() && before->second != sorted &&
      IsLost(reduce.target)) {
    Forget(reduce.target);
  }
  const auto [known, first] = reported_.emplace(reduce.target, sorted);
  if (!first && known->second != sorted) {
    Add(now, reduce.target, "two answers report different sources");
  }
  Compare(now, reduce.target);
}

void ContentChecker::Compare(absl::Time now, const ObjectId& target) {
  const auto bytes = in_bytes_.find(target);
  const auto report = reported_.find(target);
  if (bytes == in_bytes_.end() || report == reported_.end()) return;
  if (bytes->second != report->second) {
    Add(now, target, "the sources reported are not those in the bytes");
  }
}

}  // namespace hoplite::sim
