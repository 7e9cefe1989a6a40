// The fields of every message and of the values in them.
//
// Thread safety: pure functions.

#ifndef HOPLITE_CORE_MESSAGE_FIELDS_H_
#define HOPLITE_CORE_MESSAGE_FIELDS_H_

#include "absl/status/status.h"
#include "hoplite/base/id.h"
#include "hoplite/base/reduction.h"
#include "hoplite/core/directory/shard_map.h"
#include "hoplite/core/fields.h"
#include "hoplite/core/membership/cluster_view.h"
#include "hoplite/core/message.h"

namespace hoplite {

HOPLITE_FIELDS(NodeRef, node, incarnation)
HOPLITE_FIELDS(Generation, node, era, counter)
HOPLITE_FIELDS(Member, ref, control_address, data_address, agent_address)
HOPLITE_FIELDS(ShardRef, shard, epoch)
HOPLITE_FIELDS(ShardAssignment, at, host, rebuilds)
HOPLITE_FIELDS(ClusterView, cluster, self, members, lost, shard_map)

template <>
inline constexpr std::size_t kValueCount<ReduceOp> = kReduceOpCount;
template <>
inline constexpr std::size_t kValueCount<DataType> = kDataTypeCount;
template <>
inline constexpr std::size_t kValueCount<absl::StatusCode> =
    static_cast<std::size_t>(absl::StatusCode::kUnauthenticated) + 1;
template <>
inline constexpr std::size_t kValueCount<message::Holding::State> =
    static_cast<std::size_t>(message::Holding::State::kComplete) + 1;
template <>
inline constexpr std::size_t kValueCount<message::SourceState> =
    static_cast<std::size_t>(message::SourceState::kGone) + 1;

}  // namespace hoplite

namespace hoplite::message {

// --- Membership. ---
HOPLITE_FIELDS(MemberJoined, member)
HOPLITE_FIELDS(MemberLost, member)
HOPLITE_NO_FIELDS(Leave)
HOPLITE_FIELDS(MapUpdate, assignments)
HOPLITE_FIELDS(CloseShards, shards)
HOPLITE_FIELDS(ShardsClosed, shards)
// --- The directory. ---
HOPLITE_FIELDS(StaleEpoch, newer)
HOPLITE_FIELDS(Ask, at, object, ask, held, begin, lost)
HOPLITE_FIELDS(Grant, at, object, ask, generation, size, frame_bytes, server,
               final)
HOPLITE_FIELDS(GrantInline, at, object, ask, generation, payload)
HOPLITE_FIELDS(Refusal, at, object, ask, code, reason)
HOPLITE_FIELDS(Withdraw, at, object, ask)
HOPLITE_FIELDS(CopyComplete, at, object, generation)
HOPLITE_FIELDS(PutBegun, at, object, generation, size, sealed, streams, payload)
HOPLITE_FIELDS(PutAnswer, at, object, generation, code)
HOPLITE_FIELDS(PutSealed, at, object, generation)
HOPLITE_FIELDS(PutAborted, at, object, generation)
HOPLITE_FIELDS(DeleteAsk, at, object, request)
HOPLITE_FIELDS(DeleteAnswer, object, request, code)
HOPLITE_FIELDS(Drop, at, object, generation, code, reason)
HOPLITE_FIELDS(Dropped, at, object, generation)
HOPLITE_FIELDS(EvictEntry, at, object, generation)
HOPLITE_FIELDS(EvictAsk, entries)
HOPLITE_FIELDS(EvictAnswer, allowed, denied)
HOPLITE_FIELDS(Holding, object, state, generation, size, frame_bytes, ask,
               server, final, streams)
HOPLITE_FIELDS(Holdings, at, first, last, entries)
HOPLITE_FIELDS(HoldingsAsk, shards)
HOPLITE_FIELDS(Final, at, object, generation)
// --- Reduce. ---
HOPLITE_FIELDS(ReduceAsk, at, target, request, sources, count, op, type)
HOPLITE_FIELDS(ReduceAnswer, target, request, code, reason, sources)
HOPLITE_FIELDS(WatchEntry, at, object, avoid)
HOPLITE_FIELDS(WatchSources, target, entries)
HOPLITE_FIELDS(UnwatchSources, target, entries)
HOPLITE_FIELDS(SourceEntry, object, state, generation, size, holder, payload)
HOPLITE_FIELDS(SourceNews, target, entries)
HOPLITE_FIELDS(ReduceInput, position, generation, member)
HOPLITE_FIELDS(Assignment, at, target, position, output, source,
               source_generation, inputs, op, type, size, frame_bytes, divisor,
               root)
HOPLITE_FIELDS(AssignmentFailed, at, target, position, output, code, lost)
HOPLITE_FIELDS(Release, target, position, output)

}  // namespace hoplite::message

#endif  // HOPLITE_CORE_MESSAGE_FIELDS_H_
