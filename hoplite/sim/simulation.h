// A cluster in virtual time: the real machines in a modelled world.
//
// One agenda of occurrences, one machine a node. An occurrence that is an
// event goes to its node's machine; what the machine commands is carried out
// by the models of network, data plane, store and clients, and what comes of
// it goes back onto the agenda. Same options, same run.
//
// Not responsible for: what clients ask (Workload), judging (checkers).
// Thread safety: none; one thread at a time.
// Complexity: memory O(nodes + what is under way + what was ever ordered).

#ifndef HOPLITE_SIM_SIMULATION_H_
#define HOPLITE_SIM_SIMULATION_H_

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "hoplite/base/id_prefix.h"
#include "hoplite/sim/client_model.h"
#include "hoplite/sim/data_plane_model.h"
#include "hoplite/sim/fault.h"
#include "hoplite/sim/machine.h"
#include "hoplite/sim/node_host.h"

namespace hoplite::sim {

struct SimulationOptions {
  std::uint32_t node_count = 4;  // members from the start, the head included
  std::uint64_t store_capacity = 1 << 30;  // of each node
  std::uint64_t seed = 1;
  // Nodes that host shards; 0: all but the head. The head hosts them alone.
  std::uint32_t shard_host_count = 0;
  // False: only the head and the hosts of shards know all members, so that
  // the memory of very large runs stays linear.
  bool all_know_all = true;
  Schedule schedule = Schedule::kHoplite;
  NetworkOptions network;
  DataPlaneOptions data_plane;
  // From a command to what comes of it on the same node.
  absl::Duration local_delay = absl::Microseconds(1);
  std::uint64_t occurrences_max = 200'000'000;  // beyond it: no progress
  MachineFactory make_machine = MakeNode;
};

class Simulation final : private NodeHost {
 public:
  explicit Simulation(SimulationOptions options);
  ~Simulation() override;

  // Ownership: keeps `observer`, which must outlive the run.
  void AddObserver(Observer* observer) { observers_.push_back(observer); }

  ClientModel& clients() { return clients_; }
  DataPlaneModel& data_plane() { return data_plane_; }
  Agenda& agenda() override { return agenda_; }
  ContentTable& contents() override { return contents_; }

  // A process asks the head to be a member, until it is admitted. `token`
  // tells joins apart.
  void Join(std::uint64_t token);

  // --- What goes wrong. Where a node is not up, nothing does. ---
  // Its process is killed. The head hears so by `detected` later than others.
  void Crash(NodeId node, absl::Duration detected = absl::ZeroDuration());
  // The same, in the midst of an event.
  void CrashAtEvent(const fault::CrashAtEvent& crash);
  // The same, and so much later a new process is started in its place.
  void Restart(NodeId node, absl::Duration detected, absl::Duration away);
  // A new process is started as the head, at the address of the last one.
  void RestartHead();
  // It stands still, and what reaches it waits.
  void Stop(NodeId node, absl::Duration duration);
  // What `from` sends does not come through to `to`.
  void Cut(NodeId from, NodeId to, absl::Duration duration);
  // The control streams between the two break, with all that is on them, and
  // are made anew so much later; what is sent meanwhile waits for that. What
  // `b` sends before it has noticed is lost.
  void BreakControl(NodeId a, NodeId b, absl::Duration outage,
                    absl::Duration noticed = absl::ZeroDuration());
  // What the head sends to the node does not arrive before that.
  void DelayNews(NodeId node, absl::Time until);
  // The head takes the node for dead.
  void Suspect(NodeId node);

  // All nodes hear that the prefix has ended.
  void EndPrefix(const IdPrefix& prefix);

  // Runs until no request is open and nothing is under way, or the time is
  // `limit`; then tells the observers. May be called again.
  void Run(absl::Time limit);

  // How many members there have been.
  std::uint32_t started_count() const { return started_count_; }
  // Members that are up, in order of their ids.
  std::vector<NodeRef> nodes() const;
  NodeRef node(std::uint32_t index) const { return nodes().at(index); }
  // REQUIRES: the node is up.
  const Machine& machine(NodeId node) const;
  const StoreModel& store_of(NodeId node) const;
  // What a payload stands for; none where nobody made it.
  ContentId ContentOf(const Payload& payload) const;
  const SimulationOptions& options() const { return options_; }
  bool gave_up() const { return gave_up_; }  // occurrences_max was reached

 private:
  struct Slot;

  // What is on its way from one machine to another.
  struct Letter {
    NodeRef from;
    NodeRef to;
    ClusterId cluster;
    std::uint64_t stream = 0;  // of this age
    Message message;
  };
  using Way = std::pair<NodeId, NodeId>;

  bool IsUp(NodeRef node) const override;
  bool Reaches(NodeRef from, NodeRef to) const override;
  bool HasNode(NodeId node) const override { return FindSlot(node) != nullptr; }
  StoreModel& store(NodeId node) override;
  void Tell(NodeId node, Event event) override;
  void Complain(NodeId node, std::string what) override;
  void Report(const FrameSent& frame) override;
  void BufferAdvanced(NodeId node, BufferId buffer) override;
  void LetGo(NodeId node, BufferId buffer, StoreModel::Holder holder) override;
  Payload PayloadOf(ContentId content, std::uint64_t size) override;

  Slot& slot(NodeId node);
  const Slot* FindSlot(NodeId node) const;
  void StartNode(NodeConfig config);
  void StartMembers();
  // The event happens to this life of a node, once it runs.
  void Happen(NodeRef node, const Event& event);
  void Deliver(NodeId node, const Event& event);
  void Arrive(const Letter& letter);
  // The node hears the next of what has happened here, or has come this way,
  // once it can: a turn for each.
  void HearNext(NodeRef node);
  void HearNext(Way way);
  // From when on what comes this way is heard.
  absl::Time OpensAt(Way way) const;
  bool IsStopped(NodeId node) const;
  bool IsCut(NodeId from, NodeId to) const;
  // The node's life ends; `died`: its peers are told so by their connections.
  void EndNode(NodeRef node, absl::Duration detected);
  void EndLife(NodeRef node, const command::EndLife& order);
  void TryJoin(std::uint64_t token, std::uint64_t asked_of);
  void TrySeek(NodeRef node, std::uint64_t number);
  // The node's process is started again, as another node.
  void JoinAgain();
  // Both ends lose their streams to each other; `b` notices so much later.
  void LoseEachOther(NodeRef a, NodeRef b, absl::Duration noticed);
  void FindEachOther(NodeRef a, NodeRef b);
  void Tick(NodeRef node, absl::Time due);
  // Carries out what the machine has just commanded.
  void CarryOut(Slot& slot);
  void ScheduleTick(Slot& slot);

  void Execute(Slot& slot, const command::Send& order);
  void Execute(Slot& slot, const command::Admit& order);
  void Execute(Slot& slot, const command::RefuseReturn& order);
  void Execute(Slot& slot, const command::SeekHead& order);
  void Execute(Slot& slot, const command::EndLife& order);
  void Execute(Slot& slot, const command::LearnMember& order);
  void Execute(Slot& slot, const command::ForgetMember& order);
  void Execute(Slot& slot, const command::CreateBuffer& order);
  void Execute(Slot& slot, const command::ReleaseBuffer& order);
  void Execute(Slot& slot, const command::StartTransfer& order);
  void Execute(Slot& slot, const command::CancelTransfer& order);
  void Execute(Slot& slot, const command::ServePull& order);
  void Execute(Slot& slot, const command::RefusePull& order);
  void Execute(Slot& slot, const command::StartFold& order);
  void Execute(Slot& slot, const command::CancelFold& order);
  void Execute(Slot& slot, const command::FoldPayloads& order);
  void Execute(Slot& slot, const command::HandBuffer& order);
  void Execute(Slot& slot, const command::AnswerRequest& order);

  const SimulationOptions options_;
  Agenda agenda_;
  ContentTable contents_;
  DataPlaneModel data_plane_;
  ClientModel clients_;
  std::vector<Observer*> observers_;
  std::map<NodeId, std::unique_ptr<Slot>> slots_;  // of nodes that are up
  std::uint32_t started_count_ = 0;
  std::vector<std::unique_ptr<Slot>> ended_;
  std::map<NodeId, absl::Time> wakes_;  // nodes that are stopped
  std::map<Way, absl::Time> cuts_;
  std::map<Way, std::deque<Letter>> arrived_;  // and not heard yet
  std::map<Way, std::uint64_t> ages_;          // of control streams
  std::map<Way, absl::Time> outages_;          // of control streams, their ends
  bool news_may_be_late_ = false;              // nodes may not know all members
  std::map<std::uint64_t, NodeRef> returns_;   // by token
  std::set<std::uint64_t> admitted_;           // joins, by token
  std::uint64_t last_rejoin_ = 1000;           // beyond the tokens of tests
  std::uint64_t last_return_ = std::uint64_t{1} << 32;
  std::uint64_t last_cluster_ = 1;
  std::uint64_t head_lives_ = 0;
  // Keeps every payload, so that an address names one for the whole run.
  std::map<const std::string*, std::pair<Payload, ContentId>> payloads_;
  Commands commands_;
  bool gave_up_ = false;
};

}  // namespace hoplite::sim

#endif  // HOPLITE_SIM_SIMULATION_H_
