// What to do: everything a node's machine orders its driver to do.
//
// Commands are imperatives, carried out in the order given. Carrying one out
// never calls the machine; what comes of it is an event, later.
//
// Thread safety: values; as safe as int.
// Units: bytes.

#ifndef HOPLITE_CORE_COMMAND_H_
#define HOPLITE_CORE_COMMAND_H_

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "hoplite/base/id.h"
#include "hoplite/base/payload.h"
#include "hoplite/base/reduction.h"
#include "hoplite/core/event.h"
#include "hoplite/core/membership/cluster_view.h"
#include "hoplite/core/message.h"

namespace hoplite::command {

// To a peer, or to this node itself (then it comes back as an event).
struct Send {
  NodeRef to;
  Message message;
};
// Answers JoinRequested: the new member's identity and what it must know. And
// ReturnRequested: the member goes on as it was.
struct Admit {
  std::uint64_t token = 0;
  Member member;
  std::vector<Member> members;  // all living ones, the new one included
  ShardMap shard_map;
};
// Answers ReturnRequested: that incarnation is over, and has to join again.
struct RefuseReturn {
  std::uint64_t token = 0;
  std::string reason;
};
// Asks at the head's address, until there is an answer, to be taken back. Ends
// in HeadFound or Fenced; a second one takes the first one's place.
struct SeekHead {
  std::string head_address;  // of its control plane
  ClusterView view;
};
// This life of the node is over: whatever it holds is dropped, and every
// request ends with kUnavailable. A member joins again as a new one. A head
// begins anew as the head of `cluster` under that number, or, where there is
// none, ends for good.
struct EndLife {
  std::string reason;
  ClusterId cluster;
  std::uint64_t head_number = 0;
};
// A member's address, to reach it by from now on.
struct LearnMember {
  Member member;
};
// A member is dead: streams of this incarnation are cut and refused.
struct ForgetMember {
  NodeRef member;
};

// --- Store. -----------------------------------------------------------------

// Ends in BufferCreated or BufferRefused. With a payload the buffer is filled
// and complete when created.
struct CreateBuffer {
  BufferId buffer;
  std::uint64_t size = 0;
  Payload payload;
};
// The machine's own hold ends; memory returns with the last reader's pin.
// `failed` tells readers and writers who still follow the buffer.
struct ReleaseBuffer {
  BufferId buffer;
  bool failed = false;
};

// --- Data plane. ------------------------------------------------------------

// Pull [begin, size) of key at generation from the server into the buffer.
// Ends in TransferDone or TransferFailed.
struct StartTransfer {
  TransferId transfer;
  BufferId buffer;
  PullKey key;
  Generation generation;
  std::uint64_t begin = 0;
  std::uint64_t size = 0;
  std::uint64_t frame_bytes = 0;
  NodeRef server;
};
// Ends in TransferFailed, unless TransferDone was under way.
struct CancelTransfer {
  TransferId transfer;
};
// Stream the buffer to the peer, from where the pull asked, frame by frame as
// its watermark moves. Ends in PullEnded.
struct ServePull {
  PullId pull;
  BufferId buffer;
};
// Say no and close. Also ends a pull that is being served. Ends in PullEnded.
struct RefusePull {
  PullId pull;
};
// One input of a fold: another position's output, pulled from its member; or,
// where this node is that member, its buffer.
struct FoldInput {
  std::uint32_t position = 0;
  Generation generation;
  NodeRef member;
  BufferId local;  // none: pull it
};
// output = own op inputs..., frame by frame as all of them advance. The
// output's watermark moves past folded frames. Without inputs the output may be
// `own` itself: done when that is. Ends in FoldDone or FoldFailed.
struct StartFold {
  FoldId fold;
  ObjectId target;
  BufferId output;
  BufferId own;
  std::vector<FoldInput> inputs;
  ReduceOp op = ReduceOp::kSum;
  DataType type = DataType::kF32;
  std::uint64_t divisor = 1;
  std::uint64_t size = 0;
  std::uint64_t frame_bytes = 0;
};
// Ends in FoldFailed, unless FoldDone was under way.
struct CancelFold {
  FoldId fold;
};
// Folds small objects in memory. Ends in PayloadsFolded.
struct FoldPayloads {
  ObjectId target;
  Generation generation;
  std::vector<Payload> payloads;
  ReduceOp op = ReduceOp::kSum;
  DataType type = DataType::kF32;
  std::uint64_t divisor = 1;
};

// --- Clients. ---------------------------------------------------------------

// The Put has room: the client may write into the buffer.
struct HandBuffer {
  RequestId request;
  BufferId buffer;
};
// A request's only answer. The driver adds times and addresses to `detail`.
struct AnswerRequest {
  RequestId request;
  absl::StatusCode code = absl::StatusCode::kOk;
  std::string detail;             // of an error: what was waited for
  NodeRef remote;                 // of an error: the peer concerned, or none
  std::uint64_t bytes_done = 0;   // of an error
  std::uint64_t bytes_total = 0;  // of an error; 0: not known
  BufferId buffer;  // of a Get: the object, complete; of an error: what is here
  std::vector<ObjectId> sources;  // of a Reduce: those that went in
};

}  // namespace hoplite::command

namespace hoplite {

using Command = std::variant<
    command::Send, command::Admit, command::RefuseReturn, command::SeekHead,
    command::EndLife, command::LearnMember, command::ForgetMember,
    command::CreateBuffer, command::ReleaseBuffer, command::StartTransfer,
    command::CancelTransfer, command::ServePull, command::RefusePull,
    command::StartFold, command::CancelFold, command::FoldPayloads,
    command::HandBuffer, command::AnswerRequest>;
// Appended to by the machine; the driver empties and reuses it.
using Commands = std::vector<Command>;

// A stable one-line form for traces.
std::string DebugString(const Command& command);

}  // namespace hoplite

#endif  // HOPLITE_CORE_COMMAND_H_
