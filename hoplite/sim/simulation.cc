#include "hoplite/sim/simulation.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "hoplite/base/check.h"
#include "hoplite/sim/simulation_slot.h"

namespace hoplite::sim {
namespace {

constexpr NodeId kHead(1);

NetworkOptions WithSeed(NetworkOptions options, std::uint64_t seed) {
  options.seed = seed;
  return options;
}

Member MemberAt(std::uint32_t index) {
  Member member;
  member.ref = NodeRef{NodeId(index + 1), Incarnation(index + 1)};
  member.control_address = absl::StrCat("c", index + 1);
  member.data_address = absl::StrCat("d", index + 1);
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
  config.cluster = ClusterId(1);
  config.schedule = options_.schedule;
  config.store_capacity = options_.store_capacity;
  const NodeRef ref = config.self;
  if (ref.node.value() >= slots_.size()) slots_.resize(ref.node.value() + 1);
  HOPLITE_CHECK(slots_[ref.node.value()] == nullptr);
  std::set<NodeRef> learned;
  for (const Member& member : config.members) {
    if (member.ref.node.value() > options_.node_count) {
      learned.insert(member.ref);
    }
  }
  slots_[ref.node.value()] = std::make_unique<Slot>(
      ref, options_.store_capacity, options_.make_machine(std::move(config)));
  slots_[ref.node.value()]->learned = std::move(learned);
  // Everyone keeps a stream to the head.
  data_plane_.Meet(ref.node, kHead);
  ScheduleTick(*slots_[ref.node.value()]);
}

Simulation::Slot& Simulation::slot(NodeId node) {
  HOPLITE_CHECK(FindSlot(node) != nullptr);
  return *slots_[node.value()];
}

const Simulation::Slot* Simulation::FindSlot(NodeId node) const {
  return node.value() < slots_.size() ? slots_[node.value()].get() : nullptr;
}

std::vector<NodeRef> Simulation::nodes() const {
  std::vector<NodeRef> found;
  for (const std::unique_ptr<Slot>& each : slots_) {
    if (each != nullptr) found.push_back(each->ref);
  }
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

void Simulation::Join(std::uint64_t token) {
  event::JoinRequested event;
  event.token = token;
  event.control_address = absl::StrCat("join-c", token);
  event.data_address = absl::StrCat("join-d", token);
  Tell(kHead, std::move(event));
}

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
  agenda_.After(options_.local_delay, [this, node, event = std::move(event)] {
    Deliver(node, event);
  });
}

void Simulation::Deliver(NodeId node, const Event& event) {
  Slot& receiver = slot(node);
  const absl::Time now = agenda_.now();
  for (Observer* observer : observers_) {
    observer->OnEvent(now, receiver.ref, event);
  }
  receiver.machine->Handle(now, event, commands_);
  CarryOut(receiver);
}

void Simulation::Tick(NodeId node, absl::Time due) {
  Slot& ticked = slot(node);
  if (ticked.tick != due) return;
  ticked.tick.reset();
  const absl::Time now = agenda_.now();
  for (Observer* observer : observers_) observer->OnTimeout(now, ticked.ref);
  ticked.machine->HandleTimeout(now, commands_);
  CarryOut(ticked);
}

void Simulation::CarryOut(Slot& slot) {
  const absl::Time now = agenda_.now();
  for (const Command& command : commands_) {
    for (Observer* observer : observers_) {
      observer->OnCommand(now, slot.ref, command);
    }
    std::visit([&](const auto& order) { Execute(slot, order); }, command);
  }
  commands_.clear();
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
      due, [this, node = slot.ref.node, due] { Tick(node, due); },
      Weight::kTimer);
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
