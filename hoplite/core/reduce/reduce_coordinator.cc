#include "hoplite/core/reduce/reduce_coordinator.h"

#include <algorithm>

#include "absl/container/btree_set.h"
#include "absl/strings/str_format.h"
#include "hoplite/base/check.h"
#include "hoplite/core/config.h"

namespace hoplite {

ReduceCoordinator::ReduceCoordinator(ShardRef at, const message::ReduceAsk& ask)
    : at_(at), ask_(ask) {
  std::ranges::sort(ask_.sources);
  HOPLITE_CHECK(ask.count > 0 && ask.count <= ask.sources.size());
  for (const ObjectId& source : ask.sources) sources_[source];
}

void ReduceCoordinator::Watch(Context& context, std::optional<ShardId> only) {
  std::vector<ObjectId> objects;
  for (const auto& [object, source] : sources_) {
    if (only.has_value() && object.shard() != *only) continue;
    objects.push_back(object);
  }
  Ask(objects, context);
}

void ReduceCoordinator::Ask(const std::vector<ObjectId>& objects,
                            Context& context) {
  absl::btree_map<NodeRef, message::WatchSources> by_host;
  for (const ObjectId& object : objects) {
    Source& source = sources_.at(object);
    source.asked = true;
    const ShardAssignment& shard = context.shard_map.FindFor(object);
    message::WatchSources& watch = by_host[shard.host];
    watch.target = ask_.target;
    watch.entries.push_back(
        {.at = shard.at, .object = object, .avoid = source.avoid});
  }
  for (auto& [host, watch] : by_host) {
    context.out.push_back(command::Send{host, std::move(watch)});
  }
}

bool ReduceCoordinator::IsSameRequest(const message::ReduceAsk& ask) const {
  std::vector<ObjectId> sources = ask.sources;
  std::ranges::sort(sources);
  return ask.count == ask_.count && ask.op == ask_.op &&
         ask.type == ask_.type && sources == ask_.sources;
}

bool ReduceCoordinator::HasSource(const ObjectId& object) const {
  return std::ranges::binary_search(ask_.sources, object);
}

void ReduceCoordinator::AddCaller(NodeRef caller, RequestId request,
                                  Context& context) {
  if (state_ != State::kRunning) {
    Answer(caller, ask_.target, request, code_, reason_, SourcesInSet(),
           context);
    return;
  }
  const std::pair<NodeRef, RequestId> entry(caller, request);
  if (std::ranges::find(callers_, entry) == callers_.end()) {
    callers_.push_back(entry);
  }
}

void ReduceCoordinator::OnNews(const message::SourceEntry& entry,
                               Context& context) {
  auto it = sources_.find(entry.object);
  if (state_ != State::kRunning || it == sources_.end()) return;
  Source& source = it->second;
  source.asked = false;
  if (entry.state == message::SourceState::kGone ||
      entry.state == message::SourceState::kUnready) {
    OnGone(entry.object, source, entry.state == message::SourceState::kUnready,
           context);
    return;
  }
  if (!SizeFits(entry, context)) return;
  if (source.generation != entry.generation) {
    source.generation = entry.generation;
    source.final = source.payload != nullptr;
    source.holder = NodeRef();
    source.avoid.clear();
  }
  source.final |= entry.state == message::SourceState::kFinal;
  if (!source.holder && IsAvoided(source, entry.holder, context)) {
    // Its shard has not heard yet.
    if (Avoid(entry.object, source, entry.holder)) Ask({entry.object}, context);
    if (!source.in_set) return;
  } else {
    if (!source.holder) source.holder = entry.holder;
    if (source.gone) --gone_count_;
    source.gone = source.no_room = false;
  }
  if (source.in_set) {
    OnSourceChanged(source, context);
  } else if (!source.ready) {
    Arrive(entry, source, context);
  }
  MaybeFinish(context);
}

bool ReduceCoordinator::SizeFits(const message::SourceEntry& entry,
                                 Context& context) {
  if (entry.size % SizeOf(ask_.type) != 0) {
    Fail(absl::StatusCode::kInvalidArgument,
         absl::StrFormat("source %s has %d bytes, which is no multiple of the "
                         "%d bytes of type %s",
                         entry.object.ToHex(), entry.size, SizeOf(ask_.type),
                         ToString(ask_.type)),
         context);
    return false;
  }
  if (!size_.has_value()) {
    size_ = entry.size;
    first_ = entry.object;
  }
  if (*size_ == entry.size) return true;
  Fail(
      absl::StatusCode::kInvalidArgument,
      absl::StrFormat("sources differ in size: %s has %d bytes, %s has %d",
                      first_.ToHex(), *size_, entry.object.ToHex(), entry.size),
      context);
  return false;
}

void ReduceCoordinator::Arrive(const message::SourceEntry& entry,
                               Source& source, Context& context) {
  source.ready = true;
  if (arrivals_.size() == ask_.count) {
    spares_.push_back(entry.object);
    return;
  }
  source.in_set = true;
  arrivals_.push_back(entry.object);
  if (tree_) {
    Place(entry.object, context);
  } else if (entry.payload == nullptr) {
    StartTree(context);
  } else {
    source.payload = entry.payload;
    if (arrivals_.size() == ask_.count) FoldInline(context);
  }
}

void ReduceCoordinator::FoldInline(Context& context) {
  command::FoldPayloads fold;
  fold.target = ask_.target;
  fold.op = ask_.op;
  fold.type = ask_.type;
  fold.divisor = Divisor();
  for (const ObjectId& id : arrivals_) {
    fold.payloads.push_back(sources_[id].payload);
  }
  target_generation_ = NextGeneration(context);
  fold.generation = target_generation_;
  context.out.push_back(std::move(fold));
}

void ReduceCoordinator::OnFolded(Context& context) {
  target_complete_ = true;
  MaybeFinish(context);
}

void ReduceCoordinator::StartTree(Context& context) {
  tree_ = true;
  plan_ = PlanReduce(*size_, ask_.count, context.link);
  shape_ = TreeShape(ask_.count, plan_.degree);
  positions_.resize(ask_.count);
  for (const ObjectId& id : std::vector<ObjectId>(arrivals_)) {
    Source& source = sources_.at(id);
    source.payload = nullptr;
    if (source.ready) {
      Place(id, context);
      continue;
    }
    // Nobody holds any more what was here only.
    source.in_set = false;
    std::erase(arrivals_, id);
    CheckCount(id, context);
    if (state_ != State::kRunning) return;
  }
}

void ReduceCoordinator::Place(const ObjectId& object, Context& context) {
  Source& source = sources_.at(object);
  const std::uint32_t position = NextPosition(source.holder);
  source.position = position;
  positions_[position] = {.source = object, .taken = true};
  Fill(position, context);
  AssignIfReady(position, context);
  if (auto parent = shape_.Parent(position); parent.has_value()) {
    AssignIfReady(*parent, context);
  }
}

std::uint32_t ReduceCoordinator::NextPosition(NodeRef holder) {
  const std::uint32_t root = shape_.root();
  const bool is_caller = std::ranges::any_of(
      callers_, [&](const auto& caller) { return caller.first == holder; });
  if (is_caller && !positions_[root].taken) return root;
  while (next_position_ < positions_.size() &&
         (next_position_ == root || positions_[next_position_].taken)) {
    ++next_position_;
  }
  return next_position_ < positions_.size() ? next_position_ : root;
}

void ReduceCoordinator::AssignIfReady(std::uint32_t position,
                                      Context& context) {
  const auto is_filled = [&](std::uint32_t p) {
    return positions_[p].member && !positions_[p].lost;
  };
  if (!is_filled(position) || positions_[position].assigned) return;
  if (!std::ranges::all_of(shape_.Children(position), is_filled)) return;
  Position& filled = positions_[position];
  filled.assigned = filled.told = true;
  if (position == shape_.root()) {
    root_ = filled.member;
    target_generation_ = filled.output;
  }
  SendAssignment(position, context);
}

void ReduceCoordinator::SendAssignment(std::uint32_t position,
                                       Context& context) const {
  const Position& filled = positions_[position];
  message::Assignment assignment{.at = at_,
                                 .target = ask_.target,
                                 .position = position,
                                 .output = filled.output,
                                 .source = filled.source,
                                 .source_generation = filled.source_generation,
                                 .op = ask_.op,
                                 .type = ask_.type,
                                 .size = *size_,
                                 .frame_bytes = plan_.frame_bytes,
                                 .root = position == shape_.root()};
  for (std::uint32_t child : shape_.Children(position)) {
    assignment.inputs.push_back({.position = child,
                                 .generation = positions_[child].output,
                                 .member = positions_[child].member});
  }
  if (assignment.root) assignment.divisor = Divisor();
  context.out.push_back(command::Send{filled.member, std::move(assignment)});
}

void ReduceCoordinator::AssignAgain(NodeRef member, Context& context) {
  for (std::uint32_t i = 0; i < positions_.size(); ++i) {
    if (positions_[i].member != member) {
      // It may have been the member of this one before.
      const message::Release release{.target = ask_.target,
                                     .position = i,
                                     .output = NextGeneration(context)};
      context.out.push_back(command::Send{member, release});
    } else if (positions_[i].assigned) {
      SendAssignment(i, context);
    }
  }
}

void ReduceCoordinator::OnTargetComplete(Generation generation,
                                         Context& context) {
  if (state_ != State::kRunning || generation != target_generation_) return;
  target_complete_ = true;
  MaybeFinish(context);
}

void ReduceCoordinator::OnTargetLost(std::string reason) {
  HOPLITE_CHECK(state_ == State::kFinal);
  state_ = State::kFailed;
  code_ = absl::StatusCode::kDataLoss;
  reason_ = std::move(reason);
}

void ReduceCoordinator::MaybeFinish(Context& context) {
  if (state_ != State::kRunning || !target_complete_) return;
  const bool all_final =
      tree_ ? std::ranges::all_of(positions_, &Position::final)
            : std::ranges::all_of(arrivals_, [&](const ObjectId& id) {
                return sources_.at(id).final;
              });
  if (!all_final) return;
  state_ = State::kFinal;
  End(context);
}

void ReduceCoordinator::Fail(absl::StatusCode code, std::string reason,
                             Context& context) {
  if (state_ != State::kRunning) return;
  state_ = State::kFailed;
  code_ = code;
  reason_ = std::move(reason);
  End(context);
}

void ReduceCoordinator::Unwatch(Context& context) const {
  absl::btree_map<NodeRef, message::UnwatchSources> by_host;
  for (const ObjectId& object : ask_.sources) {
    const ShardAssignment& shard = context.shard_map.FindFor(object);
    message::UnwatchSources& unwatch = by_host[shard.host];
    unwatch.target = ask_.target;
    unwatch.entries.push_back({.at = shard.at, .object = object});
  }
  for (auto& [host, unwatch] : by_host) {
    context.out.push_back(command::Send{host, std::move(unwatch)});
  }
}

void ReduceCoordinator::End(Context& context) {
  Unwatch(context);
  absl::btree_set<NodeRef> members;
  for (const Position& position : positions_) {
    if (position.member && !position.lost) members.insert(position.member);
  }
  for (NodeRef member : members) {
    context.out.push_back(command::Send{member, message::Release{ask_.target}});
  }
  for (const auto& [caller, request] : callers_) {
    Answer(caller, ask_.target, request, code_, reason_, SourcesInSet(),
           context);
  }
  callers_.clear();
  // Kept is what answers a repeated request.
  sources_.clear();
  spares_.clear();
  positions_.clear();
  shape_ = TreeShape();
}

void ReduceCoordinator::Answer(NodeRef caller, const ObjectId& target,
                               RequestId request, absl::StatusCode code,
                               std::string reason,
                               std::vector<ObjectId> sources,
                               Context& context) {
  if (code != absl::StatusCode::kOk) sources.clear();
  context.out.push_back(command::Send{
      caller, message::ReduceAnswer{.target = target,
                                    .request = request,
                                    .code = code,
                                    .reason = std::move(reason),
                                    .sources = std::move(sources)}});
}

Generation ReduceCoordinator::NextGeneration(Context& context) const {
  return {.era = at_.epoch.value(), .counter = ++context.generation_counter};
}

std::uint64_t ReduceCoordinator::Divisor() const {
  return ask_.op == ReduceOp::kAverage ? ask_.count : 1;
}

std::vector<ObjectId> ReduceCoordinator::SourcesInSet() const {
  std::vector<ObjectId> sources = arrivals_;
  std::ranges::sort(sources);
  return sources;
}

}  // namespace hoplite
