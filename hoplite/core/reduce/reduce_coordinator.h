// One reduction, from its request to its final target, at the target's shard.
//
// It watches its sources, gives each that becomes ready the next position of
// the tree, and tells the nodes that hold them what to fold and where their
// inputs are. Small sources are not pulled: their bytes come with the news and
// are folded here. The first source that shows the size fixes the shape.
// Mending: a position whose output is needed again is filled again, and starts
// again with its ancestors, under new generations.
//
// Not responsible for: the target's record (its copies, Gets and Final belong
// to ObjectDirectory, which asks this class what has come of an event).
// Thread safety: none; one thread at a time.

#ifndef HOPLITE_CORE_REDUCE_REDUCE_COORDINATOR_H_
#define HOPLITE_CORE_REDUCE_REDUCE_COORDINATOR_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/btree_map.h"
#include "hoplite/core/broadcast/transfer_plan.h"
#include "hoplite/core/message.h"
#include "hoplite/core/reduce/reduction_parts.h"
#include "hoplite/core/reduce/tree_shape.h"

namespace hoplite {

class ReduceCoordinator {
 public:
  using Context = ReduceContext;
  enum class State { kRunning, kFinal, kFailed };

  ReduceCoordinator(ShardRef at, const message::ReduceAsk& ask);

  // Asks every source's shard for news; `only` limits it to one shard.
  void Watch(Context& context, std::optional<ShardId> only = std::nullopt);
  // Tells the sources' shards that it wants no more news.
  void Unwatch(Context& context) const;
  // True where `ask` asks for the same reduction.
  bool IsSameRequest(const message::ReduceAsk& ask) const;
  bool HasSource(const ObjectId& object) const;
  // Answered now where the reduction has ended, else when it does.
  void AddCaller(NodeRef caller, RequestId request, Context& context);
  void OnNews(const message::SourceEntry& entry, Context& context);
  // A member could not do its part. True where it is to Retry after a while.
  bool OnAssignmentFailed(NodeRef member,
                          const message::AssignmentFailed& failed,
                          Context& context);
  // Starts the position again, if it still waits to be told.
  void Retry(std::uint32_t position, Generation output, Context& context);
  // `target_held`: another node has every byte of the target as it is now.
  void OnNodeLost(NodeRef node, bool target_held, Context& context);
  // The node may have missed its assignments, or that it is to fill a position
  // no more: it is sent them again.
  void AssignAgain(NodeRef member, Context& context);
  // A node has every byte of `generation`.
  void OnTargetComplete(Generation generation, Context& context);
  // The last copy of the final target is gone. REQUIRES: it was final.
  void OnTargetLost(std::string reason);
  // The answer to FoldPayloads.
  void OnFolded(Context& context);
  // Ends the reduction with an error that every caller is told.
  void Fail(absl::StatusCode code, std::string reason, Context& context);
  // The answer to a ReduceAsk that never became a reduction, or is over.
  static void Answer(NodeRef caller, const ObjectId& target, RequestId request,
                     absl::StatusCode code, std::string reason,
                     std::vector<ObjectId> sources, Context& context);

  State state() const { return state_; }
  absl::StatusCode code() const { return code_; }
  const std::string& reason() const { return reason_; }
  // The target's producer, while the root position is assigned.
  std::optional<NodeRef> root() const { return root_; }
  // None where nobody makes the target yet, or any more.
  Generation target_generation() const { return target_generation_; }
  std::uint64_t size() const { return size_.value_or(0); }
  std::uint64_t frame_bytes() const { return plan_.frame_bytes; }

 private:
  using Source = ReductionSource;
  using Position = ReductionPosition;

  bool SizeFits(const message::SourceEntry& entry, Context& context);
  void Arrive(const message::SourceEntry& entry, Source& source,
              Context& context);
  void FoldInline(Context& context);
  void StartTree(Context& context);
  // Gives the source the next position.
  void Place(const ObjectId& object, Context& context);
  // The lowest free one, but for the root's. That is kept for a source that a
  // caller's node holds, which then has the target without a transfer (an
  // inner position would load its link twice); else the last to arrive has it.
  std::uint32_t NextPosition(NodeRef holder);
  void AssignIfReady(std::uint32_t position, Context& context);
  void SendAssignment(std::uint32_t position, Context& context) const;
  void MaybeFinish(Context& context);
  void End(Context& context);
  Generation NextGeneration(Context& context) const;
  std::uint64_t Divisor() const;
  std::vector<ObjectId> SourcesInSet() const;

  // Asks the sources' shards for news of these.
  void Ask(const std::vector<ObjectId>& objects, Context& context);

  // --- reduce_mending.cc ----------------------------------------------------
  void OnGone(const ObjectId& object, Source& source, bool unready,
              Context& context);
  void CheckCount(const ObjectId& object, Context& context);
  static bool IsAvoided(const Source& source, NodeRef holder,
                        const Context& context);
  // It cannot fill a position. True where the shard is to name another one.
  bool Avoid(const ObjectId& object, Source& source, NodeRef holder);
  // One of the set has another generation or holder, or is final now.
  void OnSourceChanged(Source& source, Context& context);
  // Its source's holder is its member; where none is known, once one is.
  void Fill(std::uint32_t index, Context& context);
  // What is made of its output starts again, under new generations.
  void StartAgain(std::uint32_t index, Context& context);
  // Its member is to fill it no more.
  void Leave(std::uint32_t index, Context& context);
  // Another member is to fill it, or another source.
  void FillAgain(std::uint32_t index, Context& context);
  // Its source leaves the set, and the first spare takes its place.
  void Vacate(std::uint32_t index, Context& context);
  // True where a lost position's output is needed again.
  bool IsNeeded(std::uint32_t index) const;
  // Fills what is lost and needed, and assigns what is to start again.
  void Mend(Context& context);

  const ShardRef at_;
  message::ReduceAsk ask_;  // its sources sorted
  State state_ = State::kRunning;
  absl::StatusCode code_ = absl::StatusCode::kOk;
  std::string reason_;
  std::vector<std::pair<NodeRef, RequestId>> callers_;
  absl::btree_map<ObjectId, Source> sources_;  // until the end
  std::vector<ObjectId> arrivals_;             // the set, in order of arrival
  std::vector<ObjectId> spares_;               // ready beyond it, likewise
  std::size_t gone_count_ = 0;                 // of the sources
  std::optional<std::uint64_t> size_;          // fixed by the first source
  ObjectId first_;                             // that source
  bool tree_ = false;                          // else inline, or undecided
  TransferPlan plan_;
  TreeShape shape_;
  std::vector<Position> positions_;  // of the tree
  std::uint32_t next_position_ = 0;  // those below are taken, or the root
  std::optional<NodeRef> root_;
  Generation target_generation_;
  bool target_complete_ = false;  // of that generation, on some node
};

}  // namespace hoplite

#endif  // HOPLITE_CORE_REDUCE_REDUCE_COORDINATOR_H_
