#include "hoplite/sim/agenda.h"

#include <algorithm>
#include <utility>

#include "hoplite/base/check.h"

namespace hoplite::sim {

void Agenda::At(absl::Time time, Action action, Weight weight) {
  HOPLITE_CHECK(time >= now_);
  if (free_slots_.empty()) {
    free_slots_.push_back(static_cast<std::uint32_t>(actions_.size()));
    actions_.emplace_back();
  }
  const std::uint32_t slot = free_slots_.back();
  free_slots_.pop_back();
  actions_[slot] = std::move(action);
  heap_.push_back(Entry{time, sequence_++, slot, weight});
  std::push_heap(heap_.begin(), heap_.end(), Later);
  if (weight == Weight::kWork) ++work_left_;
}

void Agenda::RunNext() {
  HOPLITE_CHECK(!heap_.empty());
  std::pop_heap(heap_.begin(), heap_.end(), Later);
  const Entry entry = heap_.back();
  heap_.pop_back();
  if (entry.weight == Weight::kWork) --work_left_;
  now_ = entry.time;
  ++count_;
  const Action action = std::move(actions_[entry.slot]);
  actions_[entry.slot] = nullptr;
  free_slots_.push_back(entry.slot);
  action();
}

std::optional<absl::Time> Agenda::NextTime() const {
  if (heap_.empty()) return std::nullopt;
  return heap_.front().time;
}

}  // namespace hoplite::sim
