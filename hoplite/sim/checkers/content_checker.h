// Judges the bytes that Gets return, and what Reduces say of them.
//
// A Get returns one whole object: of one Put that was sealed, or the final
// result of a reduction. In a result each source is once or not at all; there
// are as many as were asked for; those that are reported are those that are
// in it; and all readers get the same. What was lost with the nodes that had it
// may be made anew, of other sources.
//
// Thread safety: none; one thread at a time.

#ifndef HOPLITE_SIM_CHECKERS_CONTENT_CHECKER_H_
#define HOPLITE_SIM_CHECKERS_CONTENT_CHECKER_H_

#include <map>
#include <set>
#include <string>
#include <vector>

#include "hoplite/sim/checkers/history.h"
#include "hoplite/sim/simulation.h"
#include "hoplite/sim/violations.h"

namespace hoplite::sim {

class ContentChecker final : public Observer {
 public:
  static constexpr absl::string_view kName = "content";

  // Ownership: keeps all three.
  ContentChecker(Simulation* simulation, const History* history,
                 Violations* violations)
      : simulation_(simulation), history_(history), violations_(violations) {}

  void OnCommand(absl::Time now, NodeRef node, const Command& command) override;
  void OnNodeDown(absl::Time, NodeRef node) override { lost_.insert(node); }

 private:
  void MakeFinal(absl::Time now, const ObjectId& object, Generation generation);
  void CheckGet(absl::Time now, NodeRef node, RequestKey key,
                const command::AnswerRequest& answer);
  void CheckBytes(absl::Time now, const ObjectId& object, ContentId content);
  // True where the id may have been put once more after its Delete: that it
  // was deleted is forgotten with the host of its shard.
  bool IsMadeAgain(const ObjectId& object) const;
  // True where the bytes are what readers, or callers, have been told.
  bool Fits(const ObjectId& object, ContentId content) const;
  // True where all nodes that had the object so are lost.
  bool IsLost(const ObjectId& object) const;
  void Forget(const ObjectId& object);
  void CheckPut(absl::Time now, const ObjectId& object, ContentId content);
  void CheckResult(absl::Time now, const ObjectId& target, ContentId content);
  // Why the content is no result of the request; empty where it is one.
  std::string ResultProblem(const event::ReduceRequested& reduce,
                            ContentId content) const;
  void CheckReduce(absl::Time now, const event::ReduceRequested& reduce,
                   const std::vector<ObjectId>& reported);
  // The bytes and the report of a target, once both are known.
  void Compare(absl::Time now, const ObjectId& target);
  void Add(absl::Time now, const ObjectId& object, absl::string_view what);

  Simulation* const simulation_;
  const History* const history_;
  Violations* const violations_;
  std::set<ObjectId> final_;                          // some shard has said so
  std::map<ObjectId, Generation> final_generations_;  // of targets
  // Nodes that have died, or that others have given up: what these have does
  // not count, even while they run on and have yet to hear of it.
  std::set<NodeRef> lost_;
  std::map<ObjectId, ContentId> returned_;
  std::map<ObjectId, std::vector<ObjectId>> in_bytes_;  // sources of targets
  std::map<ObjectId, std::vector<ObjectId>> reported_;
};

}  // namespace hoplite::sim

#endif  // HOPLITE_SIM_CHECKERS_CONTENT_CHECKER_H_
