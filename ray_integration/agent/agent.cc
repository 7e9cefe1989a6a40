#include "ray_integration/agent/agent.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "hoplite/base/check.h"
#include "hoplite/base/id_prefix.h"
#include "hoplite/base/status_macros.h"

namespace hoplite::task {
namespace {

// The agent's socket stands beside its node's.
constexpr absl::string_view kSuffix = ".tasks";
// What could not be told while the head was away; the oldest are dropped.
constexpr std::size_t kUnsentMax = 4096;

// tidy-allow(clock): an agent's own time
absl::Time Now() { return absl::Now(); }

}  // namespace

class Agent::Handler final : public LinkHandler {
 public:
  Handler(Agent& agent, PeerPtr peer) : agent_(agent), peer_(std::move(peer)) {}

  void OnFrame(Link& link, absl::string_view frame) override {
    absl::StatusOr<Message> message = FromFrame(frame);
    if (!message.ok()) {
      link.Close();
      return;
    }
    MutexLock lock(agent_.mutex_);
    if (agent_.life_.has_value() && !agent_.stopped_) {
      agent_.OnMessage(*peer_, *std::move(message));
    } else {
      link.Close();
    }
  }
  void OnClosed(Link&, const absl::Status&) override {
    MutexLock lock(agent_.mutex_);
    if (agent_.life_.has_value()) agent_.OnLinkClosed(peer_);
  }

 private:
  Agent& agent_;
  const PeerPtr peer_;
};

absl::StatusOr<std::unique_ptr<Agent>> Agent::Create(
    const AgentOptions& options) {
  HOPLITE_ASSIGN_OR_RETURN(std::unique_ptr<Poller> poller, Poller::Create());
  // tidy-allow(new): its constructor is private
  std::unique_ptr<Agent> agent(new Agent(options, std::move(poller)));
  HOPLITE_ASSIGN_OR_RETURN(
      agent->address_,
      agent->poller_->Listen("0.0.0.0:0",
                             [agent = agent.get()](const LinkPtr& link) {
                               return agent->Accept(link);
                             }));
  return agent;
}

Agent::Agent(const AgentOptions& options, std::unique_ptr<Poller> poller)
    : options_(options), poller_(std::move(poller)) {
  children_ = std::make_unique<WorkerProcesses>(WorkerProcessCalls{
      .line =
          [this](std::uint64_t token, bool error, std::string line) {
            MutexLock lock(mutex_);
            if (life_.has_value()) OnLine(token, error, std::move(line));
          },
      .ended =
          [this](std::uint64_t token, const std::string& why) {
            MutexLock lock(mutex_);
            if (life_.has_value()) OnWorkerProcessEnded(token, why);
          }});
}

Agent::~Agent() { Stop(); }

void Agent::Stop() {
  {
    MutexLock lock(mutex_);
    if (std::exchange(stopped_, true)) return;
    EndLife();
  }
  children_ = nullptr;
  poller_->Stop();
  MutexLock lock(mutex_);
  client_ = nullptr;
  node_ = nullptr;
}

absl::Status Agent::Attach(NodeServer& node) {
  const std::string socket = node.socket_path();
  if (socket.empty()) {
    return absl::UnavailableError("an agent's node must serve clients");
  }
  {
    MutexLock lock(mutex_);
    node_ = &node;
    socket_ = socket;
  }
  return poller_
      ->Listen(absl::StrCat("unix:", socket, kSuffix),
               [this](const LinkPtr& link) { return Accept(link); })
      .status();
}

std::shared_ptr<LinkHandler> Agent::Accept(const LinkPtr& link) {
  auto peer = std::make_shared<Peer>();
  peer->link = link;
  return std::make_shared<Handler>(*this, std::move(peer));
}

void Agent::OnLifeBegan(const Member& self) {
  MutexLock lock(mutex_);
  if (stopped_) return;
  client_ = nullptr;
  life_.emplace(SchedulerConfig{.node = self.ref,
                                .host = options_.host,
                                .total = options_.total,
                                .store_bytes = options_.store_bytes});
  life_->self = self;
  Tick();
}

void Agent::OnLifeEnded(absl::string_view) {
  MutexLock lock(mutex_);
  EndLife();
}

void Agent::EndLife() {
  if (!life_.has_value()) return;
  // Whoever worked here finds its link closed, and ends.
  if (children_ != nullptr) children_->KillAll();
  std::vector<LinkPtr> links;
  for (const auto& [process, peer] : life_->processes) {
    if (const LinkPtr link = peer->link.lock()) links.push_back(link);
  }
  for (const auto& [node, link] : life_->agents) links.push_back(link);
  life_.reset();
  for (const LinkPtr& link : links) link->Close();
}

void Agent::OnMemberJoined(const Member& member) {
  MutexLock lock(mutex_);
  if (!life_.has_value()) return;
  life_->members[member.ref] = member;
  SendLocals(NodeList());
  if (member.ref.node == kHeadNode) {
    for (const Message& message : std::exchange(life_->unsent, {})) {
      SendAgent(member.ref, message);
    }
  }
  // The table so far, for one who is new.
  if (!is_head()) return;
  message::Loads loads;
  for (const auto& [node, load] : life_->loads) loads.loads.push_back(load);
  SendAgent(member.ref, loads);
}

void Agent::OnMemberLost(NodeRef member) {
  MutexLock lock(mutex_);
  if (!life_.has_value()) return;
  life_->members.erase(member);
  life_->agents.erase(member);
  // All that its processes owned is gone with them.
  const auto load = life_->loads.find(member);
  if (load != life_->loads.end()) {
    // One that it had started since its last report comes soon after.
    constexpr std::uint32_t kMore = 16;
    for (std::uint32_t i = 1; i <= load->second.last_number + kMore; ++i) {
      node_->EndPrefix(IdPrefix::Of(
          MakeObjectId({.node = member, .worker = WorkerNumber(i)}, 1)));
    }
    life_->loads.erase(load);
  }
  Schedule(scheduler_event::NodeLost{member});
  EndPrograms({.node = member});
  absl::erase_if(life_->processes,
                 [&](const auto& pair) { return pair.first.node == member; });
  SendLocals(NodeList());
}

bool Agent::is_head() const { return life_->self.ref.node == kHeadNode; }

message::Nodes Agent::NodeList() const {
  message::Nodes nodes;
  const auto add = [&](const Member& member, const std::string& host) {
    nodes.nodes.push_back({.node = member.ref,
                           .host = host,
                           .agent_address = member.agent_address});
  };
  add(life_->self, options_.host);
  for (const auto& [node, member] : life_->members) {
    const auto load = life_->loads.find(node);
    add(member, load == life_->loads.end() ? "" : load->second.host);
  }
  return nodes;
}

void Agent::SendLocals(const Message& message) {
  for (const auto& [process, peer] : life_->processes) {
    if (process.node == life_->self.ref) peer->Send(message);
  }
}

void Agent::SendOwner(const ProcessId& owner, const Message& message) {
  const auto it = life_->processes.find(owner);
  if (it != life_->processes.end()) it->second->Send(message);
}

void Agent::SendAgent(const NodeRef& node, const Message& message) {
  const auto member = life_->members.find(node);
  if (member == life_->members.end() || member->second.agent_address.empty()) {
    return;
  }
  LinkPtr& link = life_->agents[node];
  if (link == nullptr) {
    auto peer = std::make_shared<Peer>();
    peer->role = message::Role::kAgent;
    peer->introduced = true;
    peer->from.process.node = node;
    link = poller_->Connect(member->second.agent_address,
                            std::make_shared<Handler>(*this, peer));
    peer->link = link;
    message::Hello hello{.role = message::Role::kAgent};
    hello.from.process.node = life_->self.ref;
    link->Send(ToFrame(hello));
  }
  link->Send(ToFrame(message));
}

void Agent::TellAll(const Message& message) {
  if (is_head()) {
    for (const auto& [node, member] : life_->members) SendAgent(node, message);
    return;
  }
  for (const auto& [node, member] : life_->members) {
    if (node.node == kHeadNode) {
      SendAgent(node, message);
      return;
    }
  }
  if (life_->unsent.size() < kUnsentMax) life_->unsent.push_back(message);
}

void Agent::Schedule(const SchedulerEvent& event) {
  SchedulerCommands commands;
  life_->scheduler.Handle(Now(), event, commands);
  Carry(commands);
}

void Agent::Tick() {
  const std::optional<absl::Time> next = life_->scheduler.NextTimeout();
  if (!next.has_value() || *next >= life_->next_tick) return;
  life_->next_tick = *next;
  poller_->At(*next, [this, when = *next] {
    MutexLock lock(mutex_);
    if (!life_.has_value() || life_->next_tick != when) return;
    life_->next_tick = absl::InfiniteFuture();
    SchedulerCommands commands;
    life_->scheduler.HandleTimeout(Now(), commands);
    Carry(commands);
  });
}

void Agent::Carry(const SchedulerCommands& commands) {
  for (const SchedulerCommand& command : commands) {
    std::visit([this](const auto& one)
                   ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { Do(one); },
               command);
  }
  Tick();
}

}  // namespace hoplite::task
