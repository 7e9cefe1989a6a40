// The fields of every command.
//
// Thread safety: pure functions.

#ifndef HOPLITE_CORE_COMMAND_FIELDS_H_
#define HOPLITE_CORE_COMMAND_FIELDS_H_

#include "hoplite/core/command.h"
#include "hoplite/core/event_fields.h"
#include "hoplite/core/fields.h"

namespace hoplite::command {

HOPLITE_FIELDS(Send, to, message)
HOPLITE_FIELDS(Admit, token, member, members, shard_map)
HOPLITE_FIELDS(RefuseReturn, token, reason)
HOPLITE_FIELDS(SeekHead, head_address, view)
HOPLITE_FIELDS(EndLife, reason, cluster, head_number)
HOPLITE_FIELDS(LearnMember, member)
HOPLITE_FIELDS(ForgetMember, member)
// --- Store. ---
HOPLITE_FIELDS(CreateBuffer, buffer, size, payload)
HOPLITE_FIELDS(ReleaseBuffer, buffer, failed)
// --- Data plane. ---
HOPLITE_FIELDS(StartTransfer, transfer, buffer, key, generation, begin, size,
               frame_bytes, server)
HOPLITE_FIELDS(CancelTransfer, transfer)
HOPLITE_FIELDS(ServePull, pull, buffer)
HOPLITE_FIELDS(RefusePull, pull)
HOPLITE_FIELDS(FoldInput, position, generation, member, local)
HOPLITE_FIELDS(StartFold, fold, target, output, own, inputs, op, type, divisor,
               size, frame_bytes)
HOPLITE_FIELDS(CancelFold, fold)
HOPLITE_FIELDS(FoldPayloads, target, generation, payloads, op, type, divisor)
// --- Clients. ---
HOPLITE_FIELDS(HandBuffer, request, buffer)
HOPLITE_FIELDS(AnswerRequest, request, code, detail, remote, bytes_done,
               bytes_total, buffer, sources)

}  // namespace hoplite::command

#endif  // HOPLITE_CORE_COMMAND_FIELDS_H_
