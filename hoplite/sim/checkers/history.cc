#include "hoplite/sim/checkers/history.h"

#include <algorithm>
#include <utility>
#include <variant>

namespace hoplite::sim {

using Kind = RequestRecord::Kind;

const RequestRecord* History::Find(RequestKey key) const {
  const auto found = requests_.find(key);
  return found == requests_.end() ? nullptr : &found->second;
}

std::vector<RequestKey> History::On(const ObjectId& object, Kind kind) const {
  std::vector<RequestKey> found;
  const auto named = by_object_.find(object);
  if (named == by_object_.end()) return found;
  for (RequestKey key : named->second) {
    if (requests_.at(key).kind == kind) found.push_back(key);
  }
  return found;
}

bool History::DeleteAsked(const ObjectId& object) const {
  return ended_prefixes_.contains(IdPrefix::Of(object)) ||
         !On(object, Kind::kDelete).empty();
}

bool History::DeletedBefore(const ObjectId& object, absl::Time time) const {
  for (RequestKey key : On(object, Kind::kDelete)) {
    const RequestRecord& record = requests_.at(key);
    if (record.answered.has_value() && *record.answered < time &&
        record.code == absl::StatusCode::kOk) {
      return true;
    }
  }
  return false;
}

bool History::MayStandFor(const ObjectId& object, ContentId content) const {
  constexpr int kDepthMax = 8;
  return MayStandFor(object, content, kDepthMax);
}

bool History::MayStandFor(const ObjectId& object, ContentId content,
                          int depth) const {
  if (!content || depth == 0) return false;
  if (contents_->IsPut(content) && contents_->put(content).object == object) {
    return true;
  }
  if (contents_->IsFold(content) &&
      contents_->fold(content).rule.target == object) {
    return true;
  }
  // The result of one source is that source.
  for (RequestKey key : On(object, Kind::kReduce)) {
    for (const ObjectId& source : requests_.at(key).reduce.sources) {
      if (MayStandFor(source, content, depth - 1)) return true;
    }
  }
  return false;
}

std::optional<std::vector<ObjectId>> History::SourcesOf(
    const event::ReduceRequested& reduce, ContentId result) const {
  std::set<ObjectId> left(reduce.sources.begin(), reduce.sources.end());
  std::vector<ObjectId> found;
  for (ContentId element : contents_->Elements(reduce.target, result)) {
    // Where the id is plain; else whichever source it may stand for.
    std::optional<ObjectId> source;
    if (contents_->IsPut(element)) source = contents_->put(element).object;
    if (contents_->IsFold(element)) {
      source = contents_->fold(element).rule.target;
    }
    if (!source.has_value() || !left.contains(*source)) {
      source.reset();
      for (const ObjectId& candidate : left) {
        if (MayStandFor(candidate, element)) {
          source = candidate;
          break;
        }
      }
    }
    if (!source.has_value()) return std::nullopt;
    left.erase(*source);
    found.push_back(*source);
  }
  std::sort(found.begin(), found.end());
  return found;
}

void History::Enter(NodeRef node, RequestId request, RequestRecord record) {
  const RequestKey key{node.node, request};
  by_object_[record.object].push_back(key);
  requests_[key] = std::move(record);
  open_.insert(key);
}

void History::Note(NodeRef node, RequestId request, bool RequestRecord::*what) {
  const auto known = requests_.find({node.node, request});
  if (known != requests_.end()) known->second.*what = true;
}

void History::OnEvent(absl::Time now, NodeRef node, const Event& event) {
  RequestRecord record;
  record.asked = now;
  if (const auto* put = std::get_if<event::PutRequested>(&event)) {
    record.kind = Kind::kPut;
    record.object = put->object;
    record.deadline = put->deadline;
    record.size = put->size;
    record.inlined = put->payload != nullptr;
    record.filled = record.inlined;
    record.streams = put->streams;
    Enter(node, put->request, std::move(record));
  } else if (const auto* get = std::get_if<event::GetRequested>(&event)) {
    record.kind = Kind::kGet;
    record.object = get->object;
    record.deadline = get->deadline;
    Enter(node, get->request, std::move(record));
  } else if (const auto* gone = std::get_if<event::DeleteRequested>(&event)) {
    record.kind = Kind::kDelete;
    record.object = gone->object;
    record.deadline = gone->deadline;
    Enter(node, gone->request, std::move(record));
  } else if (const auto* reduce = std::get_if<event::ReduceRequested>(&event)) {
    record.kind = Kind::kReduce;
    record.object = reduce->target;
    record.deadline = reduce->deadline;
    record.reduce = *reduce;
    Enter(node, reduce->request, std::move(record));
  } else if (const auto* filled = std::get_if<event::PutFilled>(&event)) {
    Note(node, filled->request, &RequestRecord::filled);
  } else if (const auto* over = std::get_if<event::RequestCancelled>(&event)) {
    Note(node, over->request, &RequestRecord::cancelled);
  } else if (const auto* ended = std::get_if<event::PrefixEnded>(&event)) {
    ended_prefixes_.insert(ended->prefix);
  }
}

void History::OnCommand(absl::Time now, NodeRef node, const Command& command) {
  const auto* answer = std::get_if<command::AnswerRequest>(&command);
  if (answer == nullptr) return;
  const RequestKey key{node.node, answer->request};
  if (open_.erase(key) == 0) return;
  RequestRecord& record = requests_.at(key);
  record.answered = now;
  record.code = answer->code;
}

void History::OnNodeDown(absl::Time, NodeRef node) {
  std::erase_if(open_, [&](RequestKey key) { return key.first == node.node; });
}

}  // namespace hoplite::sim
