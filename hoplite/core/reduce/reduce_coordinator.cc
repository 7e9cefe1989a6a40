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
  absl::btree_map<NodeRef, message::WatchSources> by_host;
  for (const auto& [object, source] : sources_) {
    const ShardAssignment& shard = context.shard_map.FindFor(object);
    if (only.has_value() && shard.at.shard != *only) continue;
    message::WatchSources& watch = by_host[shard.host];
    watch.target = ask_.target;
    watch.entries.push_back({.at = shard.at, .object = object});
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
  if (entry.state == message::SourceState::kGone ||
      entry.state == message::SourceState::kUnready) {
    OnGone(entry.object, source, entry.state == message::SourceState::kUnready,
           context);
    return;
  }
  if (source.in_set && source.generation != entry.generation) {
    Fail(absl::StatusCode::kDataLoss,
         absl::StrFormat("source %s changed while it was reduced",
                         entry.object.ToHex()),
         context);
    return;
  }
  if (!SizeFits(entry, context)) return;
  source.final |= entry.state == message::SourceState::kFinal;
  if (source.gone && !source.in_set) {
    source.gone = false;
    --gone_count_;
  }
  source.generation = entry.generation;
  if (!source.ready) {
    source.ready = true;
    source.holder = entry.holder;
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
  if (arrivals_.size() == ask_.count) return;  // a spare
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

void ReduceCoordinator::OnGone(const ObjectId& object, Source& source,
                               bool unready, Context& context) {
  if (source.in_set) {
    source.gone = true;
    // An inline set has its bytes already.
    if (source.payload == nullptr) FailForLoss(object, context);
    return;
  }
  if (!source.gone && !unready) ++gone_count_;
  source = Source{.gone = source.gone || !unready};
  const std::size_t left = sources_.size() - gone_count_;
  if (left < ask_.count) {
    Fail(absl::StatusCode::kNotFound,
         absl::StrFormat("source %s was deleted or lost: %d of the %d sources "
                         "remain, %d are wanted",
                         object.ToHex(), left, sources_.size(), ask_.count),
         context);
  }
}

void ReduceCoordinator::FailForLoss(const ObjectId& source, Context& context) {
  Fail(absl::StatusCode::kDataLoss,
       absl::StrFormat("source %s was deleted or lost while it was reduced",
                       source.ToHex()),
       context);
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
    Place(id, context);
  }
}

void ReduceCoordinator::Place(const ObjectId& object, Context& context) {
  if (state_ != State::kRunning) return;
  Source& source = sources_[object];
  source.payload = nullptr;
  if (source.gone || !source.holder) {
    FailForLoss(object, context);
    return;
  }
  const std::uint32_t position = NextPosition(source.holder);
  positions_[position] = {.source = object,
                          .member = source.holder,
                          .output = NextGeneration(context)};
  AssignIfReady(position, context);
  if (auto parent = shape_.Parent(position); parent.has_value()) {
    AssignIfReady(*parent, context);
  }
}

std::uint32_t ReduceCoordinator::NextPosition(NodeRef holder) {
  const std::uint32_t root = shape_.root();
  const bool is_caller = std::ranges::any_of(
      callers_, [&](const auto& caller) { return caller.first == holder; });
  if (is_caller && !positions_[root].member) return root;
  while (next_position_ < positions_.size() &&
         (next_position_ == root || positions_[next_position_].member)) {
    ++next_position_;
  }
  return next_position_ < positions_.size() ? next_position_ : root;
}

void ReduceCoordinator::AssignIfReady(std::uint32_t position,
                                      Context& context) {
  const auto is_filled = [&](std::uint32_t p) {
    return static_cast<bool>(positions_[p].member);
  };
  if (!is_filled(position) || positions_[position].assigned) return;
  if (!std::ranges::all_of(shape_.Children(position), is_filled)) return;
  Position& filled = positions_[position];
  filled.assigned = true;
  message::Assignment assignment{
      .at = at_,
      .target = ask_.target,
      .position = position,
      .output = filled.output,
      .source = filled.source,
      .source_generation = sources_[filled.source].generation,
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
  if (assignment.root) {
    assignment.divisor = Divisor();
    root_ = filled.member;
    target_generation_ = filled.output;
  }
  context.out.push_back(command::Send{filled.member, std::move(assignment)});
}

void ReduceCoordinator::OnAssignmentFailed(
    NodeRef member, const message::AssignmentFailed& failed, Context& context) {
  if (state_ != State::kRunning || failed.position >= positions_.size()) return;
  const Position& position = positions_[failed.position];
  if (position.member != member || position.output != failed.output) return;
  const std::string who = ToString(member.node);
  switch (failed.code) {
    case absl::StatusCode::kResourceExhausted:
      Fail(failed.code,
           absl::StrFormat("a partial result of %d bytes does not fit into the "
                           "store of %s",
                           *size_, who),
           context);
      return;
    case absl::StatusCode::kUnavailable:
      Fail(failed.code,
           failed.lost ? absl::StrFormat("%s lost the partial result of %s",
                                         who, ToString(failed.lost.node))
                       : absl::StrFormat("%s could not fold source %s", who,
                                         position.source.ToHex()),
           context);
      return;
    default:
      Fail(absl::StatusCode::kDataLoss,
           absl::StrFormat("%s no longer holds source %s", who,
                           position.source.ToHex()),
           context);
  }
}

void ReduceCoordinator::OnNodeLost(NodeRef node, Context& context) {
  if (state_ != State::kRunning) return;
  std::erase_if(callers_,
                [&](const auto& caller) { return caller.first == node; });
  for (const Position& position : positions_) {
    if (position.member != node) continue;
    Fail(absl::StatusCode::kUnavailable,
         absl::StrFormat("%s, which held source %s, was lost",
                         ToString(node.node), position.source.ToHex()),
         context);
    return;
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
  const bool all_final = std::ranges::all_of(
      arrivals_, [&](const ObjectId& id) { return sources_[id].final; });
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

void ReduceCoordinator::End(Context& context) {
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
  absl::btree_set<NodeRef> members;
  for (const Position& position : positions_) {
    if (position.member) members.insert(position.member);
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
