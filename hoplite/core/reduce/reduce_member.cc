#include "hoplite/core/reduce/reduce_member.h"

#include <algorithm>
#include <iterator>

#include "hoplite/base/check.h"

namespace hoplite {

void ReduceMember::OnAssignment(NodeContext& context, NodeRef coordinator,
                                const message::Assignment& assignment) {
  const PullKey key{assignment.target, assignment.position};
  auto known = positions_.find(key);
  if (known != positions_.end()) {
    // Repeated, or late.
    if (assignment.output <= known->second.assignment.output) return;
    EndPosition(context, key, known->second);
    positions_.erase(known);
  }
  Position& position = positions_[key];
  position.assignment = assignment;
  position.coordinator = coordinator;
  objects_.AddPosition(context, assignment.source, key);
  BeginIfHere(context, key);
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
  if (source->size == assignment.size) {
    Begin(context, key, *source);
  } else {
    GiveUp(context, key, absl::StatusCode::kNotFound);
  }
}

void ReduceMember::Begin(NodeContext& context, const PullKey& key,
                         const LocalObject& source) {
  Position& position = positions_.at(key);
  position.source = source.buffer;
  context.buffers.Hold(position.source);
  if (!position.assignment.inputs.empty()) {
    TryAgain(context, {key, position.assignment.output});
    return;
  }
  position.output = position.source;
  context.buffers.Hold(position.output);
  position.output_ready = true;
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
  it->second.output_ready = true;
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
    if (position.assignment.size == 0) continue;  // complete as it is
    const bool inputs_here = std::ranges::all_of(
        position.assignment.inputs, [&](const message::ReduceInput& input) {
          return input.member != context.self ||
                 LocalInput(target, input) != nullptr;
        });
    if (inputs_here) StartFold(context, it->first, position);
  }
}

const ReduceMember::Position* ReduceMember::LocalInput(
    const ObjectId& target, const message::ReduceInput& input) const {
  auto it = positions_.find({target, input.position});
  if (it == positions_.end() || !it->second.output_ready ||
      it->second.assignment.output != input.generation) {
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
    const Position* local = LocalInput(assignment.target, input);
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
  if (position.released) EndReleased(context, key);
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
    EndReleased(context, key);
    return;
  }
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
  EndPosition(context, key, it->second);
  positions_.erase(it);
}

void ReduceMember::OnRelease(NodeContext& context, const ObjectId& target) {
  auto it = positions_.lower_bound(PullKey{target, 0});
  while (it != positions_.end() && it->first.object == target) {
    Position& position = it->second;
    if (position.assignment.root && position.fold) {
      // A receiver may report the whole target before this node has heard that
      // its fold is done. Where the reduction has failed, a Drop follows.
      position.released = true;
      ++it;
      continue;
    }
    EndPosition(context, it->first, position);
    it = positions_.erase(it);
  }
  auto held = held_.lower_bound(PullKey{target, 0});
  while (held != held_.end() && held->first.object == target) {
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
    const bool ends =
        it->second.released && it->second.assignment.output == drop.generation;
    if (ends) EndPosition(context, it->first, it->second);
    it = ends ? positions_.erase(it) : std::next(it);
  }
}

void ReduceMember::EndReleased(NodeContext& context, const PullKey& key) {
  auto it = positions_.find(key);
  EndPosition(context, key, it->second);
  positions_.erase(it);
}

void ReduceMember::EndPosition(NodeContext& context, const PullKey& key,
                               Position& position) {
  const message::Assignment& assignment = position.assignment;
  context.buffers.StopWaiting(OutputOwner{key, assignment.output});
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
  objects_.RemovePosition(context, assignment.source, key);
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

}  // namespace hoplite
