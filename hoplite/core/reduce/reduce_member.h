// This node's part in reductions: the positions that it fills.
//
// A position's output is its source folded with its children's outputs, frame
// by frame. A leaf's output is its source as it stands. The root's output is
// the target. Outputs are kept until the reduction has ended.
//
// Not responsible for: which position goes where (ReduceCoordinator).
// Thread safety: none; one thread at a time.

#ifndef HOPLITE_CORE_REDUCE_REDUCE_MEMBER_H_
#define HOPLITE_CORE_REDUCE_REDUCE_MEMBER_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/btree_set.h"
#include "hoplite/core/local/local_objects.h"
#include "hoplite/core/local/node_context.h"
#include "hoplite/core/node_status.h"

namespace hoplite {

class ReduceMember {
 public:
  explicit ReduceMember(LocalObjects& objects) : objects_(objects) {}

  // A source that is not here is fetched; the position waits for it. One that
  // is filled already starts again where the output is a newer one.
  void OnAssignment(NodeContext& context, NodeRef coordinator,
                    const message::Assignment& assignment);
  // Positions that wait for this object, their source, may go on.
  void OnObjectHere(NodeContext& context, const ObjectId& object);
  // It is larger than the store: they never will.
  void OnObjectTooLarge(NodeContext& context, const ObjectId& object);
  // It never will be: its positions that wait for it are given up.
  void OnObjectGone(NodeContext& context, const ObjectId& object);
  // The reduction has ended; the root goes on until its fold is done. Or: a
  // position is another member's.
  void OnRelease(NodeContext& context, const message::Release& release);
  // The target was deleted, or its reduction failed or starts again: a root
  // that has yet to make this generation makes nothing.
  void OnDrop(NodeContext& context, const message::Drop& drop);
  // The reductions of these shards were lost with their hosts.
  void OnShardsLost(NodeContext& context, const ShardSet& shards);
  void OnBufferCreated(NodeContext& context, const OutputOwner& owner);
  void OnBufferRefused(NodeContext& context, const OutputOwner& owner,
                       std::uint64_t capacity);
  // There may be room now.
  void TryAgain(NodeContext& context, const OutputOwner& owner);
  void OnFoldDone(NodeContext& context, FoldId fold);
  void OnFoldFailed(NodeContext& context, const event::FoldFailed& failed);
  // Served, or kept until its assignment comes.
  void OnPull(NodeContext& context, const event::PullRequested& pull);
  void OnPullEnded(PullId pull);

  std::size_t size() const { return positions_.size(); }
  void AppendStatus(std::vector<PositionStatus>& positions) const;

 private:
  struct Position {
    message::Assignment assignment;
    NodeRef coordinator;
    BufferId output;
    bool output_ready = false;
    BufferId source;       // held from the start to the end; none: not here yet
    bool started = false;  // the fold was ordered
    bool released = false;  // ends with its fold
    bool unwanted = false;  // a root's: its target's generation was dropped
    bool failed = false;    // its fold did, and the coordinator was told
    NodeRef lost;           // by whose fault
    FoldId fold;
    absl::btree_set<PullId> pulls;
  };
  using Positions = absl::btree_map<PullKey, Position>;
  struct HeldPull {
    PullId pull;
    Generation generation;
  };

  // Orders the folds of this target that have all that they need here.
  void StartFolds(NodeContext& context, const ObjectId& target);
  void StartFold(NodeContext& context, const PullKey& key, Position& position);
  // An input that this node makes itself, once it is ready; else null.
  const Position* LocalInput(const Position& parent,
                             const message::ReduceInput& input) const;
  // The position has room for its output.
  void Ready(NodeContext& context, const PullKey& key, Position& position);
  void InstallRoot(NodeContext& context, const PullKey& key);
  void BeginIfHere(NodeContext& context, const PullKey& key);
  // The positions that wait for this object.
  std::vector<PullKey> WaitingFor(const ObjectId& object) const;
  // Reports the position, and ends it.
  void GiveUp(NodeContext& context, const PullKey& key, absl::StatusCode code);
  // REQUIRES: the position's source is here.
  void Begin(NodeContext& context, const PullKey& key);
  void Fail(NodeContext& context, Position& position, absl::StatusCode code,
            NodeRef lost);
  // The position ends here.
  Positions::iterator Erase(NodeContext& context, Positions::iterator it);
  // Its fold, pulls and buffers end.
  void EndWork(NodeContext& context, const PullKey& key, Position& position);
  void ServeHeld(NodeContext& context, const PullKey& key, Position& position);

  LocalObjects& objects_;
  Positions positions_;
  absl::btree_map<FoldId, PullKey> folds_;
  absl::btree_map<PullId, PullKey> pulls_;
  absl::btree_map<PullKey, std::vector<HeldPull>> held_;
  FoldId last_fold_;
};

}  // namespace hoplite

#endif  // HOPLITE_CORE_REDUCE_REDUCE_MEMBER_H_
