// The part of ReduceCoordinator that goes on when something is lost.

#include <algorithm>

#include "absl/strings/str_format.h"
#include "hoplite/core/reduce/reduce_coordinator.h"

namespace hoplite {

// --- What is lost. ----------------------------------------------------------

void ReduceCoordinator::OnNodeLost(NodeRef node, bool target_held,
                                   Context& context) {
  if (state_ != State::kRunning) return;
  std::erase_if(callers_,
                [&](const auto& caller) { return caller.first == node; });
  for (Position& position : positions_)
    position.lost |= position.member == node;
  std::vector<ObjectId> unheld;
  for (auto& [object, source] : sources_) {
    if (source.holder != node) continue;
    if (Avoid(object, source, node)) unheld.push_back(object);
  }
  Ask(unheld, context);
  if (tree_ && positions_[shape_.root()].lost && !target_held) {
    target_complete_ = false;
  }
  Mend(context);
}

bool ReduceCoordinator::OnAssignmentFailed(
    NodeRef member, const message::AssignmentFailed& failed, Context& context) {
  if (state_ != State::kRunning || failed.position >= positions_.size()) {
    return false;
  }
  Position& position = positions_[failed.position];
  if (position.member != member || position.output != failed.output ||
      position.lost || !position.assigned) {
    return false;
  }
  if (failed.code == absl::StatusCode::kUnavailable) {
    position.stuck = true;
    Mend(context);  // which may end it all
    return state_ == State::kRunning && positions_[failed.position].stuck;
  }
  // It has no room for the position, or no longer holds its source.
  const ObjectId object = position.source;
  Source& source = sources_.at(object);
  source.no_room |= failed.code == absl::StatusCode::kResourceExhausted;
  if (Avoid(object, source, member)) Ask({object}, context);
  FillAgain(failed.position, context);
  Mend(context);
  return false;
}

void ReduceCoordinator::Retry(std::uint32_t position, Generation output,
                              Context& context) {
  if (state_ != State::kRunning || position >= positions_.size() ||
      positions_[position].output != output || !positions_[position].stuck) {
    return;
  }
  StartAgain(position, context);
  Mend(context);
}

void ReduceCoordinator::OnGone(const ObjectId& object, Source& source,
                               bool unready, Context& context) {
  if (!source.gone && (!unready || source.no_room)) {
    source.gone = true;
    ++gone_count_;
  }
  source.ready = false;
  source.holder = NodeRef();
  if (source.position.has_value()) {
    const Position& position = positions_[*source.position];
    // A member holds its source to the end.
    if (position.member && position.final) return;
    Vacate(*source.position, context);
    Mend(context);
    return;
  }
  if (source.in_set) return;  // the bytes are here
  std::erase(spares_, object);
  CheckCount(object, context);
}

void ReduceCoordinator::CheckCount(const ObjectId& object, Context& context) {
  if (sources_.size() - gone_count_ >= ask_.count) return;
  const auto left = std::ranges::count_if(sources_, [](const auto& entry) {
    return entry.second.in_set || !entry.second.gone;
  });
  if (left >= ask_.count) return;
  const Source& source = sources_.at(object);
  if (source.no_room && !source.avoid.empty()) {
    Fail(absl::StatusCode::kResourceExhausted,
         absl::StrFormat("a partial result of %d bytes does not fit into the "
                         "store of %s",
                         *size_, ToString(source.avoid.back().node)),
         context);
    return;
  }
  Fail(absl::StatusCode::kNotFound,
       absl::StrFormat("source %s was deleted or lost: %d of the %d sources "
                       "remain, %d are wanted",
                       object.ToHex(), left, sources_.size(), ask_.count),
       context);
}

// --- Holders of sources. ----------------------------------------------------

bool ReduceCoordinator::IsAvoided(const Source& source, NodeRef holder,
                                  const Context& context) {
  return context.lost.Contains(holder) ||
         std::ranges::find(source.avoid, holder) != source.avoid.end();
}

bool ReduceCoordinator::Avoid(const ObjectId& object, Source& source,
                              NodeRef holder) {
  if (std::ranges::find(source.avoid, holder) == source.avoid.end()) {
    source.avoid.push_back(holder);
  }
  if (source.holder == holder) source.holder = NodeRef();
  if (!source.in_set) {
    source.ready = false;
    std::erase(spares_, object);
  }
  return !source.holder && source.payload == nullptr;
}

void ReduceCoordinator::OnSourceChanged(Source& source, Context& context) {
  source.ready = true;
  if (!source.position.has_value()) return;  // the bytes are here
  const std::uint32_t index = *source.position;
  Position& position = positions_[index];
  if (!position.member) {
    Fill(index, context);
  } else if (position.source_generation == source.generation) {
    position.final |= source.final;
    return;
  } else if (!position.final) {
    FillAgain(index, context);
  }
  Mend(context);
}

// --- Positions. -------------------------------------------------------------

void ReduceCoordinator::Fill(std::uint32_t index, Context& context) {
  Position& position = positions_[index];
  const Source& source = sources_.at(position.source);
  if (!source.holder) {
    if (!source.asked) Ask({position.source}, context);
    return;
  }
  position.member = source.holder;
  position.source_generation = source.generation;
  position.final = source.final;
  position.output = NextGeneration(context);
}

void ReduceCoordinator::StartAgain(std::uint32_t index, Context& context) {
  std::optional<std::uint32_t> at = index;
  for (; at.has_value(); at = shape_.Parent(*at)) {
    Position& position = positions_[*at];
    // What was never assigned has an output that nobody has made.
    if (*at != index && !position.assigned) return;
    position.assigned = false;
    position.stuck = false;
    if (position.member) position.output = NextGeneration(context);
    if (*at != shape_.root()) continue;
    root_.reset();
    target_generation_ = Generation();
    target_complete_ = false;
  }
}

void ReduceCoordinator::Leave(std::uint32_t index, Context& context) {
  Position& position = positions_[index];
  if (position.told && !position.lost) {
    context.out.push_back(command::Send{
        position.member, message::Release{.target = ask_.target,
                                          .position = index,
                                          .output = position.output}});
  }
  position.member = NodeRef();
  position.lost = position.told = false;
  StartAgain(index, context);
}

void ReduceCoordinator::FillAgain(std::uint32_t index, Context& context) {
  if (!sources_.at(positions_[index].source).ready) {
    Vacate(index, context);
    return;
  }
  Leave(index, context);
  Fill(index, context);
}

void ReduceCoordinator::Vacate(std::uint32_t index, Context& context) {
  Leave(index, context);
  const ObjectId left = positions_[index].source;
  sources_.at(left).in_set = false;
  sources_.at(left).position.reset();
  std::erase(arrivals_, left);
  positions_[index] = {};
  next_position_ = std::min(next_position_, index);
  if (!spares_.empty()) {
    const ObjectId spare = spares_.front();
    spares_.erase(spares_.begin());
    arrivals_.push_back(spare);
    sources_.at(spare).in_set = true;
    sources_.at(spare).position = index;
    positions_[index] = {.source = spare, .taken = true};
    Fill(index, context);
  }
  CheckCount(left, context);
}

// --- Mending. ---------------------------------------------------------------

bool ReduceCoordinator::IsNeeded(std::uint32_t index) const {
  if (!positions_[index].assigned) return true;
  const std::optional<std::uint32_t> parent = shape_.Parent(index);
  if (!parent.has_value()) return !target_complete_;
  return !positions_[*parent].assigned || positions_[*parent].stuck;
}

void ReduceCoordinator::Mend(Context& context) {
  // Whoever starts again needs the outputs of all its children.
  for (bool again = true; again;) {
    again = false;
    for (std::uint32_t index = 0; index < positions_.size(); ++index) {
      if (!positions_[index].lost || !IsNeeded(index)) continue;
      FillAgain(index, context);
      again = true;
    }
  }
  for (std::uint32_t index = 0; index < positions_.size(); ++index) {
    AssignIfReady(index, context);
  }
}

}  // namespace hoplite
