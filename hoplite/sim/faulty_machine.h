// A node that makes one known mistake.
//
// It stands between a Node and the simulator, and changes what the node is
// told or what it commands, at the first opportunity. To the checkers the node
// itself is at fault.
//
// Thread safety: none; one thread at a time.

#ifndef HOPLITE_SIM_FAULTY_MACHINE_H_
#define HOPLITE_SIM_FAULTY_MACHINE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "hoplite/sim/machine.h"
#include "hoplite/sim/mistake.h"

namespace hoplite::sim {

class FaultyMachine final : public Machine {
 public:
  FaultyMachine(NodeConfig config, std::shared_ptr<Plant> plant)
      : plant_(std::move(plant)), machine_(MakeNode(std::move(config))) {}

  void Handle(absl::Time now, const Event& event, Commands& out) override;
  void HandleTimeout(absl::Time now, Commands& out) override;
  std::optional<absl::Time> NextTimeout() const override;
  NodeStatus Status() const override { return machine_->Status(); }
  std::string CheckInvariants() const override {
    return machine_->CheckInvariants();
  }

 private:
  bool Is(Mistake mistake) const {
    return plant_->mistake == mistake && !plant_->made;
  }
  void Remember(const Event& event);
  void Remember(const Commands& out);
  // What the node is told instead; nullopt: nothing.
  std::optional<Event> Change(const Event& event, Commands& out);
  void DropIfSuspected(const Event& event, Commands& out);
  void Finish(absl::Time now, Commands& out);

  void SpoilTransfers(Commands& out);
  void SpoilGrants(Commands& out);
  void SpoilServing(Commands& out);
  void SpoilFolds(Commands& out);
  void SpoilMending(Commands& out);
  void SpoilAnswers(absl::Time now, Commands& out);
  void SpoilFinal(Commands& out);
  void SpoilMembers(Commands& out);
  void SpoilMemory(Commands& out);
  void ReportOther(command::AnswerRequest& answer);
  void SpoilRequests(Commands& out);
  // The client of this request hears this, and nothing afterwards.
  void AnswerFalsely(RequestId request, BufferId buffer);

  const std::shared_ptr<Plant> plant_;
  const std::unique_ptr<Machine> machine_;

  std::map<ObjectId, std::vector<RequestId>> gets_;
  std::map<RequestId, event::ReduceRequested> reduces_;
  std::map<RequestId, ObjectId> puts_;
  std::map<PullId, ObjectId> pulled_;
  std::map<BufferId, std::uint64_t> sizes_;  // of buffers held
  std::map<FoldId, command::StartFold> folds_;
  std::set<ObjectId> roots_;  // targets that are produced here
  // The members and outputs of positions that were assigned from here.
  std::map<PullKey, std::pair<NodeRef, Generation>> assigned_;
  std::map<Generation, Generation> kept_;  // given again instead of
  std::map<RequestId, BufferId> handed_;
  std::set<RequestId> cancelled_;
  BufferId abandoned_;  // kept in secret
  ObjectId abandoned_object_;
  std::set<RequestId> falsely_answered_;
  std::optional<command::AnswerRequest> false_answer_;
  std::optional<command::AnswerRequest> late_answer_;
  absl::Time late_at_ = absl::InfiniteFuture();
};

// Nodes that together make the mistake once.
MachineFactory MakeFaultyNodes(std::shared_ptr<Plant> plant);

}  // namespace hoplite::sim

#endif  // HOPLITE_SIM_FAULTY_MACHINE_H_
