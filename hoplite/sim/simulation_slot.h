// One node of a simulation: its machine and what belongs to it.
//
// Thread safety: none; one thread at a time.

#ifndef HOPLITE_SIM_SIMULATION_SLOT_H_
#define HOPLITE_SIM_SIMULATION_SLOT_H_

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "hoplite/base/id.h"
#include "hoplite/sim/machine.h"
#include "hoplite/sim/simulation.h"
#include "hoplite/sim/store_model.h"

namespace hoplite::sim {

struct Simulation::Slot {
  Slot(NodeRef node, ClusterId its_cluster, std::uint64_t capacity,
       std::unique_ptr<Machine> made)
      : ref(node),
        cluster(its_cluster),
        store(capacity),
        machine(std::move(made)) {}

  const NodeRef ref;
  const ClusterId cluster;
  StoreModel store;
  std::unique_ptr<Machine> machine;
  std::optional<absl::Time> tick;  // the one that counts
  std::deque<Event> happened;      // here, and not heard of yet
  std::set<NodeRef> learned;       // beyond the members at the start
  std::set<NodeRef> forgotten;     // whatever they say is refused
  // For members of whom the head has not told it yet.
  std::vector<command::Send> to_strangers;
  absl::Time deaf_until;  // to the head: its stream is slow
  std::optional<command::SeekHead> seeks;
  std::uint64_t seek_number = 0;  // of the last SeekHead
  std::uint64_t events = 0;       // handled
  std::optional<fault::CrashAtEvent> dies;
  std::set<BufferId> ever_created;
  std::set<BufferId> refused;  // and not released since
};

}  // namespace hoplite::sim

#endif  // HOPLITE_SIM_SIMULATION_SLOT_H_
