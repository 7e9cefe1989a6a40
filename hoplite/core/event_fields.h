// The fields of every event.
//
// Thread safety: pure functions.

#ifndef HOPLITE_CORE_EVENT_FIELDS_H_
#define HOPLITE_CORE_EVENT_FIELDS_H_

#include "hoplite/core/event.h"
#include "hoplite/core/fields.h"
#include "hoplite/core/message_fields.h"

namespace hoplite {

HOPLITE_FIELDS(PullKey, object, position)

}  // namespace hoplite

namespace hoplite::event {

// --- From clients. ---
HOPLITE_FIELDS(PutRequested, request, object, size, deadline, payload, streams)
HOPLITE_FIELDS(PutFilled, request)
HOPLITE_FIELDS(GetRequested, request, object, deadline)
HOPLITE_FIELDS(DeleteRequested, request, object, deadline)
HOPLITE_FIELDS(ReduceRequested, request, target, sources, count, op, type,
               deadline)
HOPLITE_FIELDS(RequestCancelled, request)
// --- From the control plane. ---
HOPLITE_FIELDS(MessageReceived, from, message)
HOPLITE_FIELDS(PeerLost, peer)
HOPLITE_FIELDS(PeerReturned, peer)
HOPLITE_FIELDS(PeerDied, peer)
HOPLITE_FIELDS(JoinRequested, token, control_address, data_address,
               agent_address)
HOPLITE_FIELDS(ReturnRequested, token, view)
HOPLITE_FIELDS(HeadFound, members, shard_map)
HOPLITE_FIELDS(Fenced, reason)
HOPLITE_FIELDS(LatencyMeasured, latency)
HOPLITE_FIELDS(BandwidthMeasured, bytes_per_second)
// --- From the store. ---
HOPLITE_FIELDS(BufferCreated, buffer)
HOPLITE_FIELDS(BufferRefused, buffer, capacity, evictable)
HOPLITE_NO_FIELDS(RoomFreed)
// --- From the data plane. ---
HOPLITE_FIELDS(PullRequested, pull, peer, key, generation, begin, frame_bytes)
HOPLITE_FIELDS(PullEnded, pull)
HOPLITE_FIELDS(TransferDone, transfer)
HOPLITE_FIELDS(TransferFailed, transfer, received, refused)
HOPLITE_FIELDS(FoldDone, fold)
HOPLITE_FIELDS(FoldFailed, fold, lost)
HOPLITE_FIELDS(PayloadsFolded, target, generation, payload)
// --- From what runs above the node. ---
HOPLITE_FIELDS(PrefixEnded, prefix)

}  // namespace hoplite::event

#endif  // HOPLITE_CORE_EVENT_FIELDS_H_
