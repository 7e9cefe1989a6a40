// The shards of the object directory that one node hosts.
//
// Each object's record lives in its shard: who has its bytes, who waits for
// them, and whom each receiver is told to pull from. Reductions run at their
// target's shard. Handlers are idempotent: a message that is repeated, late or
// contradicts the record changes nothing.
//
// Not responsible for: epochs (Node lets only messages of the current one
// through); objects held on this node (LocalObjects).
// Thread safety: none; one thread at a time.

#ifndef HOPLITE_CORE_DIRECTORY_OBJECT_DIRECTORY_H_
#define HOPLITE_CORE_DIRECTORY_OBJECT_DIRECTORY_H_

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/btree_set.h"
#include "hoplite/base/id_prefix.h"
#include "hoplite/base/random.h"
#include "hoplite/core/broadcast/transfer_plan.h"
#include "hoplite/core/command.h"
#include "hoplite/core/config.h"
#include "hoplite/core/directory/lost_nodes.h"
#include "hoplite/core/directory/object_record.h"
#include "hoplite/core/reduce/reduce_coordinator.h"

namespace hoplite {

class ObjectDirectory {
 public:
  // `shard_map` is the node's own and outlives this.
  ObjectDirectory(const NodeConfig& config, const ShardMap& shard_map);

  // Starts to host a shard, empty.
  void Open(ShardRef at);
  // Starts to host a shard whose records were lost. Until all `members` have
  // reported, or are dead, it concludes nothing from absence. What was known
  // here under an earlier epoch is forgotten.
  void Rebuild(absl::Time now, ShardRef at, const std::vector<NodeRef>& members,
               Commands& out);
  // Gives a shard up. False, and nothing done, where it holds anything, or may.
  bool CloseIfEmpty(ShardId shard);
  // The epoch under which the shard is hosted here; nullopt where it is not.
  std::optional<Epoch> HostedEpoch(ShardId shard) const;

  // What the plans are made from: the link, and how many nodes live.
  void SetLink(const LinkEstimate& link) { link_ = link; }
  void SetNodeCount(std::uint32_t count) { node_count_ = count; }

  // Messages from receivers and writers.
  void On(absl::Time now, NodeRef from, const message::Ask& ask, Commands& out);
  void On(absl::Time now, NodeRef from, const message::Withdraw& withdraw,
          Commands& out);
  void On(absl::Time now, NodeRef from, const message::CopyComplete& complete,
          Commands& out);
  void On(absl::Time now, NodeRef from, const message::PutBegun& put,
          Commands& out);
  void On(absl::Time now, NodeRef from, const message::PutSealed& put,
          Commands& out);
  void On(absl::Time now, NodeRef from, const message::PutAborted& put,
          Commands& out);
  void On(absl::Time now, NodeRef from, const message::DeleteAsk& ask,
          Commands& out);
  void On(absl::Time now, NodeRef from, const message::Dropped& dropped,
          Commands& out);
  // What the node has of a shard: the records are made to agree with it.
  void On(absl::Time now, NodeRef from, const message::Holdings& holdings,
          Commands& out);
  // One entry at a time; true where the copy may go, and is struck.
  bool Evict(NodeRef from, const message::EvictEntry& entry);

  // Messages of reductions.
  void On(absl::Time now, NodeRef from, const message::ReduceAsk& ask,
          Commands& out);
  void On(absl::Time now, NodeRef from, const message::WatchSources& watch,
          Commands& out);
  void On(absl::Time now, NodeRef from, const message::UnwatchSources& unwatch,
          Commands& out);
  void On(absl::Time now, NodeRef from, const message::SourceNews& news,
          Commands& out);
  void On(absl::Time now, NodeRef from, const message::AssignmentFailed& failed,
          Commands& out);
  void OnFolded(absl::Time now, const event::PayloadsFolded& folded,
                Commands& out);

  // Deletes what begins so in all shards, here now or later, and refuses it.
  void OnPrefixEnded(absl::Time now, const IdPrefix& prefix, Commands& out);

  // The head's verdict: the node's copies and waits are struck.
  void OnNodeLost(absl::Time now, NodeRef node, Commands& out);
  // Reductions watch their sources in the shard again: it has a new host, or
  // its host may have missed something.
  void WatchAgain(ShardId shard, Commands& out);
  // Messages to the peer may be lost: says again what it may have missed.
  void OnPeerReturned(NodeRef peer, Commands& out);
  // Forgets tombstones that are old or too many; offers servers again that
  // have failed a receiver; asks for reports that have not come.
  void HandleTimeout(absl::Time now, Commands& out);
  std::optional<absl::Time> NextTimeout() const;

  std::uint64_t record_count() const;  // without tombstones
  std::uint64_t reductions_under_way() const;
  // True where a reduction runs here, or has run.
  bool reduces() const { return !reductions_.empty(); }
  std::string CheckInvariants() const;

 private:
  using Records = absl::btree_map<ObjectId, ObjectRecord>;
  using Reductions = absl::btree_map<ObjectId, ReduceCoordinator>;
  using LateAsk = std::variant<message::DeleteAsk, message::ReduceAsk>;
  struct StuckPosition {
    absl::Time retry_at;
    ObjectId target;
    std::uint32_t position = 0;
    Generation output;
  };
  struct Shard {
    ShardRef at;
    Records records;
    // Holdings of which the last piece has not come yet.
    absl::btree_map<NodeRef, std::vector<message::Holding>> pieces;
    // While it rebuilds: who has not reported, when they are asked to, and what
    // can be answered only when they have.
    absl::btree_set<NodeRef> missing;
    absl::Time ask_at;
    std::vector<std::pair<NodeRef, LateAsk>> later;
  };

  // Forgets all records of the shard, and its targets' reductions.
  void GiveUp(ShardId shard, Commands& out);
  Shard& ShardOf(const ObjectId& object);
  ObjectRecord* FindRecord(const ObjectId& object);
  // The object's record, new where there is none: a tombstone, where its id
  // begins with a prefix that has ended.
  ObjectRecord& RecordFor(absl::Time now, const ObjectId& object);
  ShardRef At(const ObjectId& object) const;
  void EraseIfEmpty(const ObjectId& object);

  // --- Records that are made anew, or made to agree with their holders. ---
  bool IsRebuilding(const ObjectId& object);
  // True where the ask is kept until the object's shard knows all.
  bool Defer(NodeRef from, const ObjectId& object, const LateAsk& ask);
  void AskForHoldings(absl::Time now, NodeRef only, Commands& out);
  // All have reported: what nobody has is not there.
  void FinishRebuild(absl::Time now, Shard& shard, Commands& out);
  void Conclude(absl::Time now, const ObjectId& object, bool restarts,
                Commands& out);
  // Strikes what the record ascribes to the node, and the node has not. True
  // where a copy is gone.
  bool Strike(NodeRef from, const ObjectId& object, ObjectRecord& record,
              std::span<const message::Holding> held, Commands& out);
  // Enters what the node has; where it should not have it, it is told so.
  void Enter(absl::Time now, NodeRef from, const message::Holding& holding,
             Commands& out);
  bool MayHold(const message::Holding& holding, ObjectRecord& record,
               Commands& out);
  void EnterCopy(NodeRef from, const message::Holding& holding,
                 ObjectRecord& record);
  void BecomeFinal(const ObjectId& object, ObjectRecord& record, Commands& out);
  ReduceCoordinator::Context MakeContext(Commands& out);

  void ServeWaiting(const ObjectId& object, ObjectRecord& record,
                    Commands& out);
  bool Answer(const ObjectId& object, ObjectRecord& record,
              const ObjectRecord::WaitingAsk& ask, Commands& out);
  // The same answer to the same ask; false where there is none to repeat.
  bool RepeatAnswer(const ObjectId& object, ObjectRecord& record, Copy& copy,
                    Commands& out);
  void SendGrant(const ObjectId& object, const ObjectRecord& record,
                 const Copy& copy, Commands& out) const;
  void SendInline(const ObjectId& object, ObjectRecord& record, NodeRef to,
                  AskNumber ask, Commands& out);
  void SendFinal(const ObjectId& object, const ObjectRecord& record, NodeRef to,
                 Commands& out) const;
  void AcceptPut(NodeRef from, const message::PutBegun& put,
                 ObjectRecord& record, Commands& out);
  // The Put was accepted before, perhaps by an earlier host.
  void AcceptAgain(NodeRef from, const message::PutBegun& put,
                   ObjectRecord& record, Commands& out);
  void AcceptNextPut(const ObjectId& object, ObjectRecord& record,
                     Commands& out);
  void Sealed(const ObjectId& object, ObjectRecord& record, Commands& out);
  // The bytes are gone: copies dropped with `code`, then Gets wait on or end.
  void Lose(const ObjectId& object, ObjectRecord& record, absl::StatusCode code,
            const std::string& reason, Commands& out);
  // Nobody makes the target's bytes any more, or others: copies are dropped.
  void DropTarget(const ObjectId& target, ObjectRecord& record, Commands& out);
  // Positions that nobody has told to start again do.
  void RetryStuck(absl::Time now, Commands& out);
  // What comes of a record when all that was on a lost node is struck.
  void AfterLoss(absl::Time now, const ObjectId& object, ObjectRecord& record,
                 NodeRef node, Commands& out);
  // `otherwise` is what a source is that has nothing to describe.
  void NotifyWatchers(const ObjectId& object, ObjectRecord& record,
                      message::SourceState otherwise, Commands& out);
  std::optional<message::SourceEntry> DescribeSource(
      const ObjectId& object, const ObjectRecord& record,
      const std::vector<NodeRef>& avoid) const;
  void KeepPayload(const ObjectId& object, ObjectRecord& record);
  void DropPayload(ObjectRecord& record);
  // True where the target's reduction had failed: the id is free again.
  bool ForgetFailed(const ObjectId& target);
  void EraseReduction(Reductions::iterator it);
  // REQUIRES: it is not deleted.
  void Delete(absl::Time now, const ObjectId& object, ObjectRecord& record,
              Commands& out);
  void MarkDeleted(absl::Time now, const ObjectId& object,
                   ObjectRecord& record);
  void FinishDelete(const ObjectId& object, ObjectRecord& record,
                    Commands& out);
  // Puts what has come of a reduction into its target's record.
  void Settle(absl::Time now, const ObjectId& target, Commands& out);
  // The root's node makes the target's bytes from now on.
  void InstallRoot(const ReduceCoordinator& reduction, ObjectRecord& record);
  static bool IsRunning(const ReduceCoordinator& reduction) {
    return reduction.state() == ReduceCoordinator::State::kRunning;
  }
  void MakeFinal(const ObjectId& target, ObjectRecord& record, Commands& out);
  // From the node's own machine, or kInvalidArgument with a reason.
  std::string WhyInvalid(const message::ReduceAsk& ask) const;

  const NodeRef self_;
  const Schedule schedule_;
  const ShardMap& shard_map_;
  Random random_;
  LinkEstimate link_;
  std::uint32_t node_count_ = 1;
  std::uint64_t sequence_ = 0;
  std::uint64_t generation_counter_ = 0;
  absl::btree_map<ShardId, Shard> shards_;
  Reductions reductions_;
  std::deque<ObjectId> ended_;  // targets of those that are here no more
  ServingLoads loads_;
  std::deque<std::pair<absl::Time, ObjectId>> tombstones_;
  // The same prefixes, by age and by name.
  std::deque<std::pair<absl::Time, IdPrefix>> ended_prefixes_;
  absl::btree_set<IdPrefix> prefixes_;
  // Asks that wait and will not take the server that failed them, yet.
  std::deque<std::pair<absl::Time, ObjectId>> shy_;
  absl::btree_map<std::uint64_t, ObjectId> payloads_;  // by payload_sequence
  // Reductions that have failed: their targets' Gets are told so for a while.
  std::deque<std::pair<absl::Time, ObjectId>> failed_;
  std::uint64_t payload_bytes_ = 0;
  LostNodes lost_;
  // Positions that have lost an input, and nobody knows why.
  std::deque<StuckPosition> stuck_;
};

}  // namespace hoplite

#endif  // HOPLITE_CORE_DIRECTORY_OBJECT_DIRECTORY_H_
