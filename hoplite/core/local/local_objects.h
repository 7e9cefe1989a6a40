// The objects of one node: what it puts, fetches, holds and serves.
//
// One entry an object. A Get joins whatever is under way here, so an object
// crosses the link into a node once, whatever the number of Gets. From its
// grant on an entry may be served, before its bytes are here.
//
// Not responsible for: who serves whom (ObjectDirectory); outputs of positions
// (ReduceMember).
// Thread safety: none; one thread at a time.

#ifndef HOPLITE_CORE_LOCAL_LOCAL_OBJECTS_H_
#define HOPLITE_CORE_LOCAL_LOCAL_OBJECTS_H_

#include <cstdint>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/btree_set.h"
#include "hoplite/core/local/node_context.h"
#include "hoplite/core/node_status.h"

namespace hoplite {

// What a node has, by shard.
using HoldingsByShard = absl::btree_map<ShardId, std::vector<message::Holding>>;

struct LocalObject {
  // A pull that waits for the buffer, or for this node's own grant.
  struct HeldPull {
    PullId pull;
    Generation generation;
  };
  enum class State : std::uint8_t {
    kAsking,      // the shard has been asked for a server
    kNoRoom,      // handed back; asks again when there is room
    kAllocating,  // granted, the buffer is ordered
    kFetching,    // a transfer is under way
    kProducing,   // bytes arise here: a Put, or the root of a reduction
    kComplete,
  };
  State state = State::kAsking;
  Generation generation;
  std::uint64_t size = 0;
  std::uint64_t frame_bytes = 0;
  BufferId buffer;            // once ordered
  bool buffer_ready = false;  // it may be read and served
  bool final = false;         // Gets may return it when it is complete
  AskNumber ask;
  NodeRef server;
  NodeRef failed;  // the last server that failed it, for errors to name
  TransferId transfer;
  std::uint64_t received = 0;
  std::vector<RequestId> gets;
  absl::btree_set<PullKey> positions;  // of reductions, whose source it is
  absl::btree_set<PullId> pulls;       // served from here
  std::vector<HeldPull> held;

  bool wanted_here() const { return !gets.empty() || !positions.empty(); }
};

class LocalObjects {
 public:
  // --- Clients. -----------------------------------------------------------
  void OnGet(NodeContext& context, RequestId get, const ObjectId& object);
  // Ends a Get with an error; the fetch ends where nobody wants it any more.
  void EndGet(NodeContext& context, RequestId get, const ObjectId& object,
              absl::StatusCode code, std::string detail);

  // --- What other machines of this node make. -----------------------------
  // A Put was accepted. Takes over the caller's hold on the buffer.
  void InstallPut(NodeContext& context, const ObjectId& object,
                  Generation generation, std::uint64_t size, BufferId buffer);
  void SealPut(NodeContext& context, const ObjectId& object,
               Generation generation, bool tell_shard);
  // The root of a reduction makes `object` here. Takes over the hold.
  void InstallTarget(NodeContext& context, const ObjectId& object,
                     Generation generation, std::uint64_t size,
                     std::uint64_t frame_bytes, BufferId buffer);
  void CompleteTarget(NodeContext& context, const ObjectId& object,
                      Generation generation);
  // The bytes never will be: Gets wait on for another generation. With no
  // generation: a Put that was never accepted here.
  void Abandon(NodeContext& context, const ObjectId& object,
               Generation generation);

  // --- From the shard. ----------------------------------------------------
  void OnGrant(NodeContext& context, const message::Grant& grant);
  void OnGrantInline(NodeContext& context, const message::GrantInline& grant);
  void OnRefusal(NodeContext& context, const message::Refusal& refusal);
  void OnDrop(NodeContext& context, NodeRef from, const message::Drop& drop);
  void OnFinal(NodeContext& context, const message::Final& final);
  void OnEvictAnswer(NodeContext& context, const message::EvictAnswer& answer);
  // What is unanswered is asked again of these shards' (new) hosts.
  void Resend(NodeContext& context, const ShardSet& shards);
  // All that this node has of these shards, but for its Puts.
  void AppendHoldings(const ShardSet& shards, HoldingsByShard& holdings) const;

  // --- From the driver. ---------------------------------------------------
  void OnBufferCreated(NodeContext& context, const ObjectId& object,
                       BufferId buffer);
  // `capacity` below the size: it never fits.
  void OnBufferRefused(NodeContext& context, const ObjectId& object,
                       std::uint64_t capacity);
  // There may be room now.
  void AskAgain(NodeContext& context, const ObjectId& object);
  // Asks the directory for leave to drop copies of at least `bytes`, but for
  // those that it has refused lately.
  void AskToEvict(NodeContext& context, const std::vector<BufferId>& candidates,
                  std::uint64_t bytes);
  // What was refused may be asked for again.
  void ForgetDenials() { denied_.clear(); }
  void OnTransferDone(NodeContext& context, TransferId transfer);
  void OnTransferFailed(NodeContext& context,
                        const event::TransferFailed& failed);
  // True where the pull is served, or kept until it can be. `may_come`: a Put
  // of that generation waits for its acceptance here.
  bool OnPull(NodeContext& context, const event::PullRequested& pull,
              bool may_come);
  void OnPullEnded(NodeContext& context, PullId pull);

  // --- For positions of reductions. ---------------------------------------
  // The object is a position's source: what is not here is fetched, as for a
  // Get.
  void AddPosition(NodeContext& context, const ObjectId& object,
                   const PullKey& position);
  void RemovePosition(NodeContext& context, const ObjectId& object,
                      const PullKey& position);
  // False where it ended in an error since.
  bool IsWantedBy(const ObjectId& object, const PullKey& position) const;
  // The entry, where this node holds or makes that generation; else null.
  LocalObject* FindHeld(const ObjectId& object, Generation generation);

  void AppendStatus(std::vector<LocalObjectStatus>& objects) const;
  std::size_t transfers_under_way() const { return transfers_.size(); }
  std::string CheckInvariants(const BufferTable& buffers) const;

 private:
  using Objects = absl::btree_map<ObjectId, LocalObject>;

  // The object's entry; the shard is asked where nothing of it is under way.
  LocalObject& Want(NodeContext& context, const ObjectId& object);
  // A grant that nobody here waits for: until the shard hears so, it counts
  // this node as a receiver, and sends it others.
  void LetPass(NodeContext& context, const ObjectId& object,
               Generation generation);
  void NoteEnded(const ObjectId& object, Generation generation);
  void Ask(NodeContext& context, const ObjectId& object, LocalObject& entry,
           NodeRef lost);
  void SendAsk(NodeContext& context, const ObjectId& object,
               const LocalObject& entry, NodeRef lost) const;
  void StartFetch(NodeContext& context, const ObjectId& object,
                  LocalObject& entry);
  void Complete(NodeContext& context, const ObjectId& object,
                LocalObject& entry);
  void AnswerGets(NodeContext& context, LocalObject& entry);
  // The positions whose source it is need not be told.
  void FailGets(NodeContext& context, LocalObject& entry, absl::StatusCode code,
                const std::string& detail);
  void ServeHeld(NodeContext& context, LocalObject& entry);
  void RefuseHeld(NodeContext& context, LocalObject& entry);
  // Ends transfers, pulls and the buffer; Gets and held pulls stay.
  void DropBytes(NodeContext& context, const ObjectId& object,
                 LocalObject& entry);
  // The entry's last end: bytes dropped, held pulls refused. No Get waits.
  void Erase(NodeContext& context, Objects::iterator it);
  // Where it is wanted here the shard is asked again, else the entry ends, but
  // for pulls of a target that this node may yet be the root of.
  void AskAgainOrErase(NodeContext& context, Objects::iterator it);
  void EndFetchIfUnwanted(NodeContext& context, const ObjectId& object);
  // A target of which this node may be, or become, the root.
  bool MayBeAssigned(const ObjectId& object, Generation generation) const;
  LocalObject& TakeOver(NodeContext& context, const ObjectId& object,
                        Generation generation, std::uint64_t size,
                        BufferId buffer);

  Objects objects_;
  AskNumber last_ask_;
  TransferId last_transfer_;
  absl::btree_map<TransferId, ObjectId> transfers_;
  absl::btree_map<PullId, ObjectId> pulls_;
  // Asked to go, and not answered yet: their sizes.
  absl::btree_map<ObjectId, std::uint64_t> evicting_;
  absl::btree_set<ObjectId> denied_;
  // Targets that this node was granted or made, and let go of, oldest first:
  // their root is elsewhere, or was here.
  std::deque<std::pair<ObjectId, Generation>> ended_targets_;
};

}  // namespace hoplite

#endif  // HOPLITE_CORE_LOCAL_LOCAL_OBJECTS_H_
