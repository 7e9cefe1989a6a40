// Which copy serves which receiver: the broadcast tree as it grows.
//
// Complete and idle copies first; then the copy nearest to complete bytes,
// which for simultaneous arrivals makes the level order of a tree of the
// record's degree (a chain for degree 1), and for late ones the partial copy
// that will be free of work soonest. A copy is eligible if it has a slot and
// its chain of servers ends at a complete copy or at the producer and does not
// pass through the asker: so no cycle can arise.
//
// The receiver-driven, one-slot form is from "Hoplite" (SIGCOMM 2021); here a
// copy may have more slots, where the cost model says so.
//
// Thread safety: none; one thread at a time.

#ifndef HOPLITE_CORE_BROADCAST_SERVER_SELECTOR_H_
#define HOPLITE_CORE_BROADCAST_SERVER_SELECTOR_H_

#include <cstdint>

#include "hoplite/base/random.h"
#include "hoplite/core/directory/object_record.h"

namespace hoplite {

// The server for `asker`, or null where none is eligible now. `lost` has
// failed it and is not chosen. Complexity: O(copies) and the chains of those
// that have a slot.
Copy* SelectServer(ObjectRecord& record, NodeRef asker, NodeRef lost,
                   const ServingLoads& loads);

// Schedule::kPlain: any complete copy, drawn at random, however busy.
Copy* DrawCompleteCopy(ObjectRecord& record, NodeRef asker, Random& random);

}  // namespace hoplite

#endif  // HOPLITE_CORE_BROADCAST_SERVER_SELECTOR_H_
