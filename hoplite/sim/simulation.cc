#include "hoplite/sim/simulation.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "hoplite/base/check.h"
#include "hoplite/sim/simulation_slot.h"

namespace hoplite::sim {
namespace {

NetworkOptions WithSeed(NetworkOptions options, std::uint64_t seed) {
  options.seed = seed;
  return options;
}

Member MemberAt(std::uint32_t index) {
  Member member;
  member.ref = NodeRef{NodeId(index + 1), Incarnation(index + 1)};
  member.control_address = absl::StrCat("c", index + 1);
  member.data_address = absl::StrCat("d", index + 1);
  member.agent_address = absl::StrCat("a", index + 1);
  return member;
}

}  // namespace

Simulation::Simulation(SimulationOptions options)
    : options_(std::move(options)),
      data_plane_(options_.data_plane,
                  WithSeed(options_.network, options_.seed), this),
      clients_(this) {
  StartMembers();
}

Simulation::~Simulation() = default;

void Simulation::StartMembers() {
  const std::uint32_t count = options_.node_count;
  HOPLITE_CHECK(count > 0);
  std::vector<Member> members;
  for (std::uint32_t i = 0; i < count; ++i) members.push_back(MemberAt(i));
  const std::uint32_t hosts =
      options_.shard_host_count == 0
          ? std::max(count - 1, 1u)
          : std::min(options_.shard_host_count, std::max(count - 1, 1u));
  ShardMap shard_map;
  for (std::uint32_t shard = 0; shard < kShardCount; ++shard) {
    const std::uint32_t host = count == 1 ? 0 : 1 + shard % hosts;
    shard_map.Apply(
        ShardAssignment{ShardRef{ShardId(shard), Epoch(1)}, members[host].ref});
  }
  for (std::uint32_t i = 0; i < count; ++i) {
    NodeConfig config;
    config.self = members[i].ref;
    config.is_head = i == 0;
    config.seed = options_.seed + i;
    config.members = options_.all_know_all || i <= hosts
                         ? members
                         : std::vector<Member>{members[0], members[i]};
    config.shard_map = shard_map;
    StartNode(std::move(config));
  }
}

void Simulation::StartNode(NodeConfig config) {
  if (!config.cluster) config.cluster = ClusterId(1);
  config.schedule = options_.schedule;
  config.store_capacity = options_.store_capacity;
  const NodeRef ref = config.self;
  HOPLITE_CHECK(!slots_.contains(ref.node));
  std::set<NodeRef> learned;
  NodeRef head;
  for (const Member& member : config.members) {
    if (member.ref.node.value() > options_.node_count) {
      learned.insert(member.ref);
    }
    if (member.ref.node == kHeadNode) head = member.ref;
  }
  if (ref.node == kHeadNode) ++head_lives_;
  started_count_ += ref.node != kHeadNode || head_lives_ == 1 ? 1 : 0;
  const ClusterId cluster = config.cluster;
  Slot& started = *(slots_[ref.node] = std::make_unique<Slot>(
                        ref, cluster, options_.store_capacity,
                        options_.make_machine(std::move(config))));
  started.learned = std::move(learned);
  // Everyone keeps a stream to the head.
  data_plane_.Meet(ref.node, kHeadNode);
  if (ref.node != kHeadNode &&
      (!IsUp(head) || slot(kHeadNode).cluster != cluster)) {
    Tell(ref.node, event::PeerLost{head});
  }
  ScheduleTick(started);
}

Simulation::Slot& Simulation::slot(NodeId node) {
  HOPLITE_CHECK(FindSlot(node) != nullptr);
  return *slots_.at(node);
}

const Simulation::Slot* Simulation::FindSlot(NodeId node) const {
  const auto found = slots_.find(node);
  return found == slots_.end() ? nullptr : found->second.get();
}

std::vector<NodeRef> Simulation::nodes() const {
  std::vector<NodeRef> found;
  for (const auto& [id, each] : slots_) found.push_back(each->ref);
  return found;
}

const Machine& Simulation::machine(NodeId node) const {
  HOPLITE_CHECK(FindSlot(node) != nullptr);
  return *FindSlot(node)->machine;
}

const StoreModel& Simulation::store_of(NodeId node) const {
  HOPLITE_CHECK(FindSlot(node) != nullptr);
  return FindSlot(node)->store;
}

bool Simulation::IsUp(NodeRef node) const {
  const Slot* const found = FindSlot(node.node);
  return found != nullptr && found->ref == node;
}

StoreModel& Simulation::store(NodeId node) { return slot(node).store; }

void Simulation::Run(absl::Time limit) {
  while (agenda_.work_left() > 0 || clients_.open_requests() > 0) {
    const std::optional<absl::Time> next = agenda_.NextTime();
    if (!next.has_value() || *next > limit) break;
    if (agenda_.count() >= options_.occurrences_max) {
      gave_up_ = true;
      break;
    }
    agenda_.RunNext();
  }
  for (Observer* observer : observers_) observer->OnEnd(agenda_.now());
}

void Simulation::Tell(NodeId node, Event event) {
  const Slot* const told = FindSlot(node);
  if (told == nullptr) return;
  agenda_.After(options_.local_delay,
                [this, ref = told->ref, event = std::move(event)] {
                  Happen(ref, event);
                });
}

void Simulation::Happen(NodeRef node, const Event& event) {
  if (!IsUp(node)) return;
  slot(node.node).happened.push_back(event);
  HearNext(node);
}

void Simulation::HearNext(NodeRef node) {
  if (!IsUp(node)) return;
  if (IsStopped(node.node)) {
    agenda_.At(wakes_.at(node.node), [this, node] { HearNext(node); });
    return;
  }
  std::deque<Event>& happened = slot(node.node).happened;
  if (happened.empty()) return;  // it was the turn of an earlier head
  const Event event = std::move(happened.front());
  happened.pop_front();
  Deliver(node.node, event);
}

void Simulation::Deliver(NodeId node, const Event& event) {
  Slot& receiver = slot(node);
  const absl::Time now = agenda_.now();
  for (Observer* observer : observers_) {
    observer->OnEvent(now, receiver.ref, event);
  }
  ++receiver.events;
  receiver.machine->Handle(now, event, commands_);
  CarryOut(receiver);
}

void Simulation::Tick(NodeRef node, absl::Time due) {
  if (!IsUp(node) || slot(node.node).tick != due) return;
  Slot& ticked = slot(node.node);
  ticked.tick.reset();
  if (IsStopped(node.node)) {
    ticked.tick = wakes_.at(node.node);
    agenda_.At(
        *ticked.tick, [this, node, at = *ticked.tick] { Tick(node, at); },
        Weight::kTimer);
    return;
  }
  const absl::Time now = agenda_.now();
  for (Observer* observer : observers_) observer->OnTimeout(now, ticked.ref);
  ticked.machine->HandleTimeout(now, commands_);
  CarryOut(ticked);
}

void Simulation::CarryOut(Slot& slot) {
  const absl::Time now = agenda_.now();
  const bool dies = slot.dies.has_value() && slot.events >= slot.dies->event;
  if (dies && commands_.size() > slot.dies->commands) {
    commands_.erase(
        commands_.begin() + static_cast<std::ptrdiff_t>(slot.dies->commands),
        commands_.end());
  }
  for (const Command& command : commands_) {
    for (Observer* observer : observers_) {
      observer->OnCommand(now, slot.ref, command);
    }
    std::visit([&](const auto& order) { Execute(slot, order); }, command);
  }
  commands_.clear();
  if (dies) {
    EndNode(slot.ref, slot.dies->detected);
    return;
  }
  for (Observer* observer : observers_) {
    observer->OnHandled(now, slot.ref, *slot.machine);
  }
  ScheduleTick(slot);
}

void Simulation::ScheduleTick(Slot& slot) {
  const std::optional<absl::Time> next = slot.machine->NextTimeout();
  if (!next.has_value() || *next == absl::InfiniteFuture()) return;
  const absl::Time due = std::max(*next, agenda_.now());
  if (slot.tick.has_value() && *slot.tick <= due) return;
  slot.tick = due;
  agenda_.At(
      due, [this, node = slot.ref, due] { Tick(node, due); }, Weight::kTimer);
}

void Simulation::Complain(NodeId node, std::string what) {
  for (Observer* observer : observers_) {
    observer->OnComplaint(agenda_.now(), slot(node).ref, what);
  }
}

void Simulation::Report(const FrameSent& frame) {
  for (Observer* observer : observers_) {
    observer->OnFrameSent(agenda_.now(), frame);
  }
}

void Simulation::BufferAdvanced(NodeId node, BufferId buffer) {
  data_plane_.BufferAdvanced(node, buffer);
}

void Simulation::LetGo(NodeId node, BufferId buffer,
                       StoreModel::Holder holder) {
  // The clients of a node may outlive it.
  if (!HasNode(node) || !store(node).Contains(buffer)) return;
  if (store(node).LetGo(buffer, holder)) Tell(node, event::RoomFreed{});
}

Payload Simulation::PayloadOf(ContentId content, std::uint64_t size) {
  Payload payload = MakePayload(std::string(size, '\0'));
  payloads_[payload.get()] = {payload, content};
  return payload;
}

ContentId Simulation::ContentOf(const Payload& payload) const {
  const auto found = payloads_.find(payload.get());
  return found == payloads_.end() ? ContentId() : found->second.second;
}

}  // namespace hoplite::sim
