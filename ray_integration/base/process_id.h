// Who a process of the task runtime is, and the ids of what it owns.
//
// An object's id begins with the process that owns it: the one that submitted
// the task whose result it is, or that Put it. A counter follows, which a
// process never uses twice; so the objects that a second attempt of a task
// makes have other ids than the first one's.
//
//   bytes   0..3   4..11         12..15   16..23    24..27
//           node   incarnation   worker   counter   zeros      (big-endian)
//
// Thread safety: values; as safe as int.

#ifndef HOPLITE_RAY_INTEGRATION_BASE_PROCESS_ID_H_
#define HOPLITE_RAY_INTEGRATION_BASE_PROCESS_ID_H_

#include <compare>
#include <cstdint>
#include <string>
#include <utility>

#include "hoplite/base/id.h"

namespace hoplite::task {

// A worker or a driver of a node, in the order in which the node has heard of
// them; never given out twice in one life of the node.
using WorkerNumber = StrongInt<struct WorkerNumberTag, std::uint32_t>;

struct ProcessId {
  NodeRef node;
  WorkerNumber worker;

  explicit operator bool() const { return static_cast<bool>(worker); }
  friend constexpr auto operator<=>(const ProcessId&,
                                    const ProcessId&) = default;
  template <typename H>
  friend H AbslHashValue(H state, const ProcessId& id) {
    return H::combine(std::move(state), id.node, id.worker);
  }
};

// The counter-th object that `owner` owns. REQUIRES: counter > 0.
ObjectId MakeObjectId(const ProcessId& owner, std::uint64_t counter);
// None where the id was not made by MakeObjectId.
ProcessId OwnerOf(const ObjectId& object);
// Of an id made by MakeObjectId, else 0.
std::uint64_t CounterOf(const ObjectId& object);

// "worker 4 of node 3", as it appears in messages to people.
std::string ToString(const ProcessId& id);

}  // namespace hoplite::task

#endif  // HOPLITE_RAY_INTEGRATION_BASE_PROCESS_ID_H_
