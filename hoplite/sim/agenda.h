// The agenda holds what is to happen, in virtual time, and lets it happen.
//
// Occurrences at the same instant happen in the order in which they were
// entered, so a run depends on nothing but its inputs.
//
// Thread safety: none; one thread at a time.
// Complexity: O(log n) for each call, n the occurrences to come.

#ifndef HOPLITE_SIM_AGENDA_H_
#define HOPLITE_SIM_AGENDA_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "absl/time/time.h"

namespace hoplite::sim {

// Whether the run is over while only such occurrences are left.
enum class Weight : std::uint8_t {
  kWork,   // something is under way
  kTimer,  // somebody would look again; of no interest when all is done
};

class Agenda {
 public:
  using Action = std::function<void()>;

  absl::Time now() const { return now_; }

  // Enters what happens at `time`. REQUIRES: time >= now().
  void At(absl::Time time, Action action, Weight weight = Weight::kWork);
  void After(absl::Duration delay, Action action,
             Weight weight = Weight::kWork) {
    At(now_ + delay, std::move(action), weight);
  }

  // Lets the earliest occurrence happen. REQUIRES: NextTime() has a value.
  void RunNext();
  // When the earliest occurrence is due; nullopt where there is none.
  std::optional<absl::Time> NextTime() const;

  // Occurrences of Weight::kWork that are to come.
  std::uint64_t work_left() const { return work_left_; }
  // Occurrences that have happened.
  std::uint64_t count() const { return count_; }

 private:
  struct Entry {
    absl::Time time;
    std::uint64_t sequence = 0;
    std::uint32_t slot = 0;
    Weight weight = Weight::kWork;
  };
  static bool Later(const Entry& a, const Entry& b) {
    return a.time != b.time ? a.time > b.time : a.sequence > b.sequence;
  }

  absl::Time now_ = absl::UnixEpoch();
  std::uint64_t sequence_ = 0;
  std::uint64_t work_left_ = 0;
  std::uint64_t count_ = 0;
  std::vector<Entry> heap_;      // by Later: the earliest in front
  std::vector<Action> actions_;  // indexed by slot
  std::vector<std::uint32_t> free_slots_;
};

}  // namespace hoplite::sim

#endif  // HOPLITE_SIM_AGENDA_H_
