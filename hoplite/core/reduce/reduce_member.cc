#include "hoplite/core/reduce/reduce_member.h"

#include <algorithm>
#include <iterator>

#include "hoplite/base/check.h"

namespace hoplite {

void ReduceMember::OnAssignment(NodeContext& context, NodeRef coordinator,
                                const message::Assignment& assignment) {
  const PullKey key{assignment.target, assignment.position};
  auto known = positions_.find(key);
  const bool starts_again = known != positions_.end();
  if (starts_again && assignment.output <= known->second.assignment.output) {
    // Repeated, or late.
    const Position& position = known->second;
    if (assignment.output == position.assignment.output && position.failed) {
      Fail(context, known->second, absl::StatusCode::kUnavailable,
           position.lost);
    }
    return;
  }
  objects_.AddPosition(context, assignment.source, key);
  BufferId source;
  if (starts_again) {
    const message::Assignment& old = known->second.assignment;
    // A source that stays is not let go of: nobody else may have it.
    if (old.source == assignment.source &&
        old.source_generation == assignment.source_generation &&
        old.size == assignment.size) {
      source = known->second.source;
      if (source) context.buffers.Hold(source);
    }
    if (old.source != assignment.source) {
      objects_.RemovePosition(context, old.source, key);
    }
    EndWork(context, key, known->second);
    positions_.erase(known);
  }
  Position& position = positions_[key];
  position.assignment = assignment;
  position.coordinator = coordinator;
  position.source = source;
  if (source) {
    Begin(context, key);
  } else {
    BeginIfHere(context, key);
  }
}

void ReduceMember::OnObjectHere(NodeContext& context, const ObjectId& object) {
  for (const PullKey& key : WaitingFor(object)) BeginIfHere(context, key);
}

void ReduceMember::OnObjectTooLarge(NodeContext& context,
                                    const ObjectId& object) {
  for (const PullKey& key : WaitingFor(object)) {
    GiveUp(context, key, absl::StatusCode::kResourceExhausted);
  }
}

void ReduceMember::OnObjectGone(NodeContext& context, const ObjectId& object) {
  for (const PullKey& key : WaitingFor(object)) {
    if (objects_.IsWantedBy(object, key)) continue;
    GiveUp(context, key, absl::StatusCode::kNotFound);
  }
}

std::vector<PullKey> ReduceMember::WaitingFor(const ObjectId& object) const {
  std::vector<PullKey> waiting;
  for (const auto& [key, position] : positions_) {
    if (position.assignment.source == object && !position.source) {
      waiting.push_back(key);
    }
  }
  return waiting;
}

void ReduceMember::BeginIfHere(NodeContext& context, const PullKey& key) {
  Position& position = positions_.at(key);
  const message::Assignment& assignment = position.assignment;
  const LocalObject* source =
      objects_.FindHeld(assignment.source, assignment.source_generation);
  if (source == nullptr) return;
  if (source->size != assignment.size) {
    GiveUp(context, key, absl::StatusCode::kNotFound);
    return;
  }
  position.source = source->buffer;
  context.buffers.Hold(position.source);
  Begin(context, key);
}

void ReduceMember::Begin(NodeContext& context, const PullKey& key) {
  Position& position = positions_.at(key);
  if (!position.assignment.inputs.empty()) {
    TryAgain(context, {key, position.assignment.output});
    return;
  }
  position.output = position.source;
  context.buffers.Hold(position.output);
  Ready(context, key, position);
}

void ReduceMember::TryAgain(NodeContext& context, const OutputOwner& owner) {
  auto it = positions_.find(owner.key);
  if (it == positions_.end() || it->second.output ||
      it->second.assignment.output != owner.generation) {
    return;
  }
  it->second.output = context.buffers.Create(owner, it->second.assignment.size,
                                             nullptr, context.out);
}

void ReduceMember::OnBufferCreated(NodeContext& context,
                                   const OutputOwner& owner) {
  auto it = positions_.find(owner.key);
  HOPLITE_CHECK(it != positions_.end());
  Ready(context, owner.key, it->second);
}

void ReduceMember::OnBufferRefused(NodeContext& context,
                                   const OutputOwner& owner,
                                   std::uint64_t capacity) {
  auto it = positions_.find(owner.key);
  if (it == positions_.end() ||
      it->second.assignment.output != owner.generation) {
    return;
  }
  Position& position = it->second;
  position.output = BufferId();
  if (capacity < position.assignment.size) {
    GiveUp(context, owner.key, absl::StatusCode::kResourceExhausted);
    return;
  }
  context.buffers.WaitForRoom(owner);
}

void ReduceMember::Ready(NodeContext& context, const PullKey& key,
                         Position& position) {
  if (position.unwanted) return;  // until it is assigned anew
  position.output_ready = true;
  const bool root = position.assignment.root;
  ServeHeld(context, key, position);
  StartFolds(context, key.object);
  if (root) InstallRoot(context, key);
}

void ReduceMember::StartFolds(NodeContext& context, const ObjectId& target) {
  for (auto it = positions_.lower_bound(PullKey{target, 0});
       it != positions_.end() && it->first.object == target; ++it) {
    Position& position = it->second;
    // A leaf has nothing to fold; one that is the root only ends with its
    // source, whose bytes are the target's.
    const bool folds =
        !position.assignment.inputs.empty() || position.assignment.root;
    if (!folds || position.started || !position.output_ready) continue;
    if (position.unwanted) continue;
    if (position.assignment.size == 0) continue;  // complete as it is
    const bool inputs_here = std::ranges::all_of(
        position.assignment.inputs, [&](const message::ReduceInput& input) {
          return input.member != context.self ||
                 LocalInput(position, input) != nullptr;
        });
    if (inputs_here) StartFold(context, it->first, position);
  }
}

const ReduceMember::Position* ReduceMember::LocalInput(
    const Position& parent, const message::ReduceInput& input) const {
  auto it = positions_.find({parent.assignment.target, input.position});
  if (it == positions_.end() || !it->second.output_ready ||
      it->second.assignment.output != input.generation ||
      it->second.assignment.size != parent.assignment.size) {
    return nullptr;
  }
  return &it->second;
}

void ReduceMember::InstallRoot(NodeContext& context, const PullKey& key) {
  const Position& position = positions_.at(key);
  const message::Assignment& assignment = position.assignment;
  context.buffers.Hold(position.output);
  objects_.InstallTarget(context, assignment.target, assignment.output,
                         assignment.size, assignment.frame_bytes,
                         position.output);
  if (assignment.size == 0) {
    objects_.CompleteTarget(context, assignment.target, assignment.output);
  }
  // Positions of other reductions may wait for this one's target.
  OnObjectHere(context, ObjectId(key.object));
}

void ReduceMember::StartFold(NodeContext& context, const PullKey& key,
                             Position& position) {
  const message::Assignment& assignment = position.assignment;
  position.started = true;
  position.fold = last_fold_ = last_fold_.Next();
  folds_[position.fold] = key;
  command::StartFold fold{.fold = position.fold,
                          .target = assignment.target,
                          .output = position.output,
                          .own = position.source,
                          .op = assignment.op,
                          .type = assignment.type,
                          .divisor = assignment.divisor,
                          .size = assignment.size,
                          .frame_bytes = assignment.frame_bytes};
  for (const message::ReduceInput& input : assignment.inputs) {
    command::FoldInput& added = fold.inputs.emplace_back();
    added.position = input.position;
    added.generation = input.generation;
    added.member = input.member;
    if (input.member != context.self) continue;
    const Position* local = LocalInput(position, input);
    HOPLITE_CHECK(local != nullptr);
    added.local = local->output;
  }
  context.out.push_back(std::move(fold));
}

void ReduceMember::OnFoldDone(NodeContext& context, FoldId fold) {
  auto it = folds_.find(fold);
  if (it == folds_.end()) return;
  const PullKey key = it->second;
  folds_.erase(it);
  Position& position = positions_.at(key);
  position.fold = FoldId();
  if (position.assignment.root) {
    objects_.CompleteTarget(context, key.object, position.assignment.output);
  }
  if (position.released) Erase(context, positions_.find(key));
}

void ReduceMember::OnFoldFailed(NodeContext& context,
                                const event::FoldFailed& failed) {
  auto it = folds_.find(failed.fold);
  if (it == folds_.end()) return;
  const PullKey key = it->second;
  Position& position = positions_.at(key);
  folds_.erase(it);
  position.fold = FoldId();
  if (position.released) {
    Erase(context, positions_.find(key));
    return;
  }
  position.failed = true;
  position.lost = failed.lost;
  Fail(context, position, absl::StatusCode::kUnavailable, failed.lost);
}

void ReduceMember::Fail(NodeContext& context, Position& position,
                        absl::StatusCode code, NodeRef lost) {
  const message::Assignment& assignment = position.assignment;
  context.Send(position.coordinator,
               message::AssignmentFailed{.at = assignment.at,
                                         .target = assignment.target,
                                         .position = assignment.position,
                                         .output = assignment.output,
                                         .code = code,
                                         .lost = lost});
}

void ReduceMember::GiveUp(NodeContext& context, const PullKey& key,
                          absl::StatusCode code) {
  auto it = positions_.find(key);
  Fail(context, it->second, code, NodeRef());
  Erase(context, it);
}

void ReduceMember::OnRelease(NodeContext& context,
                             const message::Release& release) {
  if (release.output) {
    auto it = positions_.find(PullKey{release.target, release.position});
    if (it != positions_.end() &&
        it->second.assignment.output <= release.output) {
      Erase(context, it);
    }
    return;
  }
  auto it = positions_.lower_bound(PullKey{release.target, 0});
  while (it != positions_.end() && it->first.object == release.target) {
    Position& position = it->second;
    const bool makes_target =
        position.assignment.root && position.fold &&
        objects_.FindHeld(release.target, position.assignment.output) !=
            nullptr;
    if (makes_target) {
      // A receiver may report the whole target before this node has heard that
      // its fold is done. Where the reduction has failed, a Drop follows, or
      // has come before.
      position.released = true;
      ++it;
      continue;
    }
    it = Erase(context, it);
  }
  auto held = held_.lower_bound(PullKey{release.target, 0});
  while (held != held_.end() && held->first.object == release.target) {
    for (const HeldPull& pull : held->second) {
      pulls_.erase(pull.pull);
      context.out.push_back(command::RefusePull{pull.pull});
    }
    held = held_.erase(held);
  }
}

void ReduceMember::OnDrop(NodeContext& context, const message::Drop& drop) {
  auto it = positions_.lower_bound(PullKey{drop.object, 0});
  while (it != positions_.end() && it->first.object == drop.object) {
    Position& position = it->second;
    const bool makes_it = position.assignment.root &&
                          position.assignment.output == drop.generation;
    position.unwanted |= makes_it;
    it = makes_it && position.released ? Erase(context, it) : std::next(it);
  }
}

void ReduceMember::OnShardsLost(NodeContext& context, const ShardSet& shards) {
  for (auto it = positions_.begin(); it != positions_.end();) {
    Position& position = it->second;
    const message::Assignment assignment = position.assignment;
    const bool ends =
        shards.test(assignment.target.shard().value()) && !position.released;
    if (!ends) {
      ++it;
      continue;
    }
    const LocalObject* target =
        assignment.root
            ? objects_.FindHeld(assignment.target, assignment.output)
            : nullptr;
    if (target != nullptr && target->final && position.fold) {
      position.released = true;
      ++it;
      continue;
    }
    const bool making =
        target != nullptr && target->state == LocalObject::State::kProducing;
    it = Erase(context, it);
    if (making) {
      objects_.Abandon(context, assignment.target, assignment.output);
    }
  }
}

ReduceMember::Positions::iterator ReduceMember::Erase(NodeContext& context,
                                                      Positions::iterator it) {
  const PullKey key = it->first;
  const ObjectId source = it->second.assignment.source;
  EndWork(context, key, it->second);
  it = positions_.erase(it);
  objects_.RemovePosition(context, source, key);
  return it;
}

void ReduceMember::EndWork(NodeContext& context, const PullKey& key,
                           Position& position) {
  context.buffers.StopWaiting(OutputOwner{key, position.assignment.output});
  if (position.fold) {
    folds_.erase(position.fold);
    context.out.push_back(command::CancelFold{position.fold});
  }
  for (PullId pull : position.pulls) {
    pulls_.erase(pull);
    context.out.push_back(command::RefusePull{pull});
  }
  context.buffers.Release(position.output, context.out);
  context.buffers.Release(position.source, context.out);
}

void ReduceMember::OnPull(NodeContext& context,
                          const event::PullRequested& pull) {
  pulls_[pull.pull] = pull.key;
  held_[pull.key].push_back({pull.pull, pull.generation});
  auto it = positions_.find(pull.key);
  if (it != positions_.end() && it->second.output_ready) {
    ServeHeld(context, pull.key, it->second);
  }
}

void ReduceMember::ServeHeld(NodeContext& context, const PullKey& key,
                             Position& position) {
  auto held = held_.find(key);
  if (held == held_.end()) return;
  const Generation current = position.assignment.output;
  std::vector<HeldPull> waiting;
  for (const HeldPull& pull : held->second) {
    if (pull.generation == current) {
      position.pulls.insert(pull.pull);
      context.out.push_back(command::ServePull{pull.pull, position.output});
    } else if (pull.generation < current) {
      pulls_.erase(pull.pull);
      context.out.push_back(command::RefusePull{pull.pull});
    } else {
      waiting.push_back(pull);  // this node's own assignment is older
    }
  }
  if (waiting.empty()) {
    held_.erase(held);
  } else {
    held->second = std::move(waiting);
  }
}

void ReduceMember::OnPullEnded(PullId pull) {
  auto it = pulls_.find(pull);
  if (it == pulls_.end()) return;
  const PullKey key = it->second;
  pulls_.erase(it);
  auto position = positions_.find(key);
  if (position != positions_.end()) position->second.pulls.erase(pull);
  auto held = held_.find(key);
  if (held == held_.end()) return;
  std::erase_if(held->second,
                [&](const HeldPull& entry) { return entry.pull == pull; });
  if (held->second.empty()) held_.erase(held);
}

void ReduceMember::AppendStatus(std::vector<PositionStatus>& positions) const {
  for (const auto& [key, position] : positions_) {
    PositionStatus& status = positions.emplace_back();
    status.target = key.object;
    status.position = key.position;
    status.root = position.assignment.root;
    for (const message::ReduceInput& input : position.assignment.inputs) {
      status.inputs.push_back(input.member);
    }
    status.size = position.assignment.size;
    if (position.output_ready) status.output = position.output;
  }
}

}  // namespace hoplite
