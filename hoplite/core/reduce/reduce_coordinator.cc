#include "hoplite/core/reduce/reduce_coordinator.h"

#include <algorithm>

#include "absl/container/btree_set.h"
#include "absl/strings/str_format.h"
#include "hoplite/base/check.h"
#include "hoplite/core/config.h"

namespace hoplite {

ReduceCoordinator::ReduceCoordinator(ShardRef at, const message::ReduceAsk& ask)
    : at_(at), ask_(ask) {
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
  if (ask.count != ask_.count || ask.op != ask_.op || ask.type != ask_.type ||
      ask.sources.size() != ask_.sources.size()) {
    return false;
  }
  return std::ranges::all_of(ask.sources,
                             [&](const ObjectId& id) { return HasSource(id); });
}

bool ReduceCoordinator::HasSource(const ObjectId& object) const {
  return sources_.contains(object);
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
  source.gone = false;
  source.generation = entry.generation;
  if (!source.ready) {
    source.ready = true;
    source.holder = entry.holder;
    source.payload = entry.payload;
    Arrive(entry.object, source, context);
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

void ReduceCoordinator::Arrive(const ObjectId& object, Source& source,
                               Context& context) {
  if (arrivals_.size() == ask_.count) return;  // a spare
  source.in_set = true;
  arrivals_.push_back(object);
  if (tree_) {
    Place(object, context);
    return;
  }
  const bool all_small = std::ranges::all_of(
      arrivals_,
      [&](const ObjectId& id) { return sources_[id].payload != nullptr; });
  if (!all_small) {
    StartTree(context);
  } else if (arrivals_.size() == ask_.count) {
    FoldInline(context);
  }
}

void ReduceCoordinator::OnGone(const ObjectId& object, Source& source,
                               bool unready, Context& context) {
  // An inline set has its bytes already.
  const bool needed = source.in_set && !(tree_ == false && source.payload);
  if (needed) {
    Fail(absl::StatusCode::kDataLoss,
         absl::StrFormat("source %s was deleted or lost while it was reduced",
                         object.ToHex()),
         context);
    return;
  }
  if (source.in_set) return;
  source = Source{.gone = !unready};
  if (unready) return;
  const auto left = std::ranges::count_if(
      sources_, [](const auto& entry) { return !entry.second.gone; });
  if (static_cast<std::uint64_t>(left) < ask_.count) {
    Fail(absl::StatusCode::kNotFound,
         absl::StrFormat("source %s was deleted: %d of the %d sources remain, "
                         "%d are wanted",
                         object.ToHex(), left, sources_.size(), ask_.count),
         context);
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
  for (const ObjectId& id : arrivals_) Place(id, context);
}

void ReduceCoordinator::Place(const ObjectId& object, Context& context) {
  const auto position = static_cast<std::uint32_t>(positions_.size());
  positions_.push_back({.source = object,
                        .member = sources_[object].holder,
                        .output = NextGeneration(context)});
  AssignIfReady(position, context);
  if (auto parent = shape_.Parent(position); parent.has_value()) {
    AssignIfReady(*parent, context);
  }
}

void ReduceCoordinator::AssignIfReady(std::uint32_t position,
                                      Context& context) {
  const auto is_filled = [&](std::uint32_t p) { return p < positions_.size(); };
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
           absl::StrFormat("%s lost the partial result of %s", who,
                           ToString(failed.lost.node)),
           context);
      return;
    default:
      Fail(failed.code,
           absl::StrFormat("%s no longer holds source %s", who,
                           position.source.ToHex()),
           context);
  }
}

void ReduceCoordinator::OnNodeLost(NodeRef node, Context& context) {
  if (state_ != State::kRunning) return;
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
  for (auto& [object, source] : sources_) {
    const ShardAssignment& shard = context.shard_map.FindFor(object);
    message::UnwatchSources& unwatch = by_host[shard.host];
    unwatch.target = ask_.target;
    unwatch.entries.push_back({.at = shard.at, .object = object});
    source.payload = nullptr;
  }
  for (auto& [host, unwatch] : by_host) {
    context.out.push_back(command::Send{host, std::move(unwatch)});
  }
  absl::btree_set<NodeRef> members;
  for (const Position& position : positions_) members.insert(position.member);
  for (NodeRef member : members) {
    context.out.push_back(command::Send{member, message::Release{ask_.target}});
  }
  for (const auto& [caller, request] : callers_) {
    Answer(caller, ask_.target, request, code_, reason_, SourcesInSet(),
           context);
  }
  callers_.clear();
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
