// The ids of leases, and of what a node's scheduler orders for them.
//
// Thread safety: values; as safe as int.

#ifndef HOPLITE_RAY_INTEGRATION_SCHEDULER_LEASE_ID_H_
#define HOPLITE_RAY_INTEGRATION_SCHEDULER_LEASE_ID_H_

#include <compare>
#include <cstdint>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "hoplite/base/id.h"
#include "ray_integration/base/process_id.h"

namespace hoplite::task {

// One request for a worker, and the lease that comes of it. The owner counts
// them, and asks under a new number each time, but for one that was forwarded.
struct LeaseId {
  ProcessId owner;
  std::uint64_t number = 0;

  explicit operator bool() const { return number != 0; }
  friend constexpr auto operator<=>(const LeaseId&, const LeaseId&) = default;
  template <typename H>
  friend H AbslHashValue(H state, const LeaseId& id) {
    return H::combine(std::move(state), id.owner, id.number);
  }
};

// One order to bring a lease's arguments here; unique in its node.
using FetchId = StrongInt<struct FetchIdTag>;
// One order to start a worker; unique in its node.
using StartId = StrongInt<struct StartIdTag>;

inline std::string ToString(const LeaseId& id) {
  return absl::StrCat("lease ", id.number, " of ", ToString(id.owner));
}

}  // namespace hoplite::task

#endif  // HOPLITE_RAY_INTEGRATION_SCHEDULER_LEASE_ID_H_
