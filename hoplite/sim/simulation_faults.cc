// What goes wrong in a simulation, and how nodes learn of it: what their
// connections and heartbeats would tell them.

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "hoplite/core/config.h"
#include "hoplite/sim/simulation.h"
#include "hoplite/sim/simulation_slot.h"

namespace hoplite::sim {
namespace {

constexpr absl::Duration kSeekPause = absl::Milliseconds(100);

}  // namespace

bool Simulation::IsStopped(NodeId node) const {
  const auto wakes = wakes_.find(node);
  return wakes != wakes_.end() && wakes->second > agenda_.now();
}

bool Simulation::IsCut(NodeId from, NodeId to) const {
  const auto cut = cuts_.find({from, to});
  return cut != cuts_.end() && cut->second > agenda_.now();
}

bool Simulation::Reaches(NodeRef from, NodeRef to) const {
  return IsUp(from) && IsUp(to) && !IsStopped(from.node) &&
         !IsStopped(to.node) && !IsCut(from.node, to.node) &&
         !FindSlot(to.node)->forgotten.contains(from);
}

absl::Time Simulation::OpensAt(Way way) const {
  absl::Time opens = agenda_.now();
  const auto wait_for = [&](const auto& ends, const auto& key) {
    const auto end = ends.find(key);
    if (end != ends.end()) opens = std::max(opens, end->second);
  };
  wait_for(wakes_, way.second);
  wait_for(cuts_, way);
  wait_for(outages_, way);
  const Slot* const receiver = FindSlot(way.second);
  if (way.first == kHeadNode && receiver != nullptr) {
    opens = std::max(opens, receiver->deaf_until);
  }
  return opens;
}

void Simulation::Arrive(const Letter& letter) {
  const Way way(letter.from.node, letter.to.node);
  arrived_[way].push_back(letter);
  HearNext(way);
}

void Simulation::HearNext(Way way) {
  const absl::Time opens = OpensAt(way);
  if (opens > agenda_.now()) {
    agenda_.At(opens, [this, way] { HearNext(way); });
    return;
  }
  // The first that waits, whichever has brought this turn: faults may overlap,
  // and a stream keeps its order.
  const Letter letter = std::move(arrived_.at(way).front());
  arrived_.at(way).pop_front();
  if (!IsUp(letter.to) || slot(way.second).cluster != letter.cluster ||
      slot(way.second).forgotten.contains(letter.from) ||
      ages_[way] != letter.stream) {
    return;
  }
  Deliver(way.second, event::MessageReceived{letter.from, letter.message});
}

void Simulation::Join(std::uint64_t token) { TryJoin(token, 0); }

void Simulation::TryJoin(std::uint64_t token, std::uint64_t asked_of) {
  if (admitted_.contains(token)) return;
  if (HasNode(kHeadNode) && asked_of != head_lives_) {
    event::JoinRequested event;
    event.token = token;
    event.control_address = absl::StrCat("join-c", token);
    event.data_address = absl::StrCat("join-d", token);
    event.agent_address = absl::StrCat("join-a", token);
    Tell(kHeadNode, std::move(event));
    asked_of = head_lives_;
  }
  agenda_.After(
      kSeekPause, [this, token, asked_of] { TryJoin(token, asked_of); },
      Weight::kTimer);
}

void Simulation::TrySeek(NodeRef node, std::uint64_t number) {
  if (!IsUp(node) || !slot(node.node).seeks.has_value() ||
      slot(node.node).seek_number != number) {
    return;
  }
  agenda_.After(
      kSeekPause, [this, node, number] { TrySeek(node, number); },
      Weight::kTimer);
  const bool reached = HasNode(kHeadNode) && !IsStopped(kHeadNode) &&
                       !IsStopped(node.node) && !IsCut(node.node, kHeadNode) &&
                       !IsCut(kHeadNode, node.node);
  if (!reached) return;
  returns_[++last_return_] = node;
  Tell(kHeadNode,
       event::ReturnRequested{last_return_, slot(node.node).seeks->view});
}

void Simulation::EndPrefix(const IdPrefix& prefix) {
  for (NodeRef node : nodes()) Tell(node.node, event::PrefixEnded{prefix});
}

void Simulation::LoseEachOther(NodeRef a, NodeRef b, absl::Duration noticed) {
  ++ages_[{a.node, b.node}];
  Tell(a.node, event::PeerLost{b});
  ++ages_[{b.node, a.node}];
  agenda_.After(noticed, [this, a, b] {
    ++ages_[{b.node, a.node}];
    if (IsUp(b)) Tell(b.node, event::PeerLost{a});
  });
}

void Simulation::FindEachOther(NodeRef a, NodeRef b) {
  if (!IsUp(a) || !IsUp(b) || slot(a.node).forgotten.contains(b) ||
      slot(b.node).forgotten.contains(a)) {
    return;
  }
  if (!Reaches(a, b) || !Reaches(b, a)) {
    agenda_.After(
        kSeekPause, [this, a, b] { FindEachOther(a, b); }, Weight::kTimer);
    return;
  }
  Tell(a.node, event::PeerReturned{b});
  Tell(b.node, event::PeerReturned{a});
}

void Simulation::EndNode(NodeRef node, absl::Duration detected) {
  for (Observer* observer : observers_) {
    observer->OnNodeDown(agenda_.now(), node);
  }
  const ClusterId cluster = slot(node.node).cluster;
  ended_.push_back(std::move(slots_.extract(node.node).mapped()));
  data_plane_.NodeDown(node);
  clients_.NodeDown(node.node);
  for (NodeRef other : nodes()) {
    if (slot(other.node).cluster != cluster) continue;
    const absl::Duration latency =
        data_plane_.network().Latency(node.node, other.node);
    agenda_.After(latency, [this, node, other] {
      if (IsUp(other)) Tell(other.node, event::PeerLost{node});
    });
    if (other.node != kHeadNode) continue;
    // Nobody answers at its address.
    agenda_.After(3 * latency + detected, [this, node, other] {
      if (IsUp(other)) Tell(other.node, event::PeerDied{node});
    });
  }
}

void Simulation::Crash(NodeId node, absl::Duration detected) {
  if (HasNode(node)) EndNode(slot(node).ref, detected);
}

void Simulation::CrashAtEvent(const fault::CrashAtEvent& crash) {
  if (!HasNode(crash.node)) return;
  const NodeRef ref = slot(crash.node).ref;
  slot(crash.node).dies = crash;
  agenda_.At(crash.until, [this, ref] {
    if (IsUp(ref)) slot(ref.node).dies.reset();
  });
}

void Simulation::Restart(NodeId node, absl::Duration detected,
                         absl::Duration away) {
  if (!HasNode(node)) return;
  Crash(node, detected);
  agenda_.After(away, [this] { JoinAgain(); });
}

void Simulation::JoinAgain() { Join(++last_rejoin_); }

void Simulation::EndLife(NodeRef node, const command::EndLife& order) {
  EndNode(node, absl::ZeroDuration());
  if (node.node != kHeadNode) {
    JoinAgain();
    return;
  }
  if (order.head_number == 0) return;
  NodeConfig config;
  config.self = {kHeadNode,
                 Incarnation(order.head_number << kHeadNumberShift | 1)};
  config.is_head = true;
  config.returns = true;
  config.cluster = order.cluster;
  config.seed = options_.seed;
  config.members = {Member{config.self, "c1", "d1"}};
  StartNode(std::move(config));
}

void Simulation::RestartHead() {
  if (HasNode(kHeadNode)) return;
  NodeConfig config;
  config.self = {kHeadNode, Incarnation(1)};
  config.is_head = true;
  config.cluster = ClusterId(++last_cluster_);
  config.seed = options_.seed;
  config.members = {Member{config.self, "c1", "d1"}};
  for (std::uint32_t shard = 0; shard < kShardCount; ++shard) {
    config.shard_map.Apply({{ShardId(shard), Epoch(1)}, config.self});
  }
  StartNode(std::move(config));
}

void Simulation::Stop(NodeId node, absl::Duration duration) {
  if (!HasNode(node)) return;
  const NodeRef ref = slot(node).ref;
  news_may_be_late_ = true;
  wakes_[node] = std::max(wakes_[node], agenda_.now() + duration);
  agenda_.After(duration, [this] { data_plane_.WakeAll(); });
  agenda_.After(
      kDeadAfter,
      [this, ref] {
        if (!IsUp(ref) || !IsStopped(ref.node)) return;
        for (NodeRef other : nodes()) {
          if (other == ref) continue;
          data_plane_.BreakBetween(other, ref);
          if (ref.node == kHeadNode) Tell(other.node, event::PeerLost{ref});
        }
        if (ref.node != kHeadNode) Tell(kHeadNode, event::PeerDied{ref});
      },
      Weight::kTimer);
}

void Simulation::Cut(NodeId from, NodeId to, absl::Duration duration) {
  if (!HasNode(from) || !HasNode(to) || from == to) return;
  const NodeRef a = slot(from).ref;
  const NodeRef b = slot(to).ref;
  news_may_be_late_ = true;
  cuts_[{from, to}] = std::max(cuts_[{from, to}], agenda_.now() + duration);
  agenda_.After(duration, [this, a, b] {
    data_plane_.WakeAll();
    FindEachOther(a, b);
  });
  if (duration <= kDeadAfter) return;
  agenda_.After(kDeadAfter, [this, a, b] {
    if (!IsUp(a) || !IsUp(b)) return;
    data_plane_.BreakBetween(a, b);
    LoseEachOther(a, b, absl::ZeroDuration());
    if (a.node == kHeadNode) Tell(a.node, event::PeerDied{b});
    if (b.node == kHeadNode) Tell(b.node, event::PeerDied{a});
  });
}

void Simulation::BreakControl(NodeId a, NodeId b, absl::Duration outage,
                              absl::Duration noticed) {
  if (!HasNode(a) || !HasNode(b) || a == b) return;
  news_may_be_late_ = true;
  const NodeRef first = slot(a).ref;
  const NodeRef second = slot(b).ref;
  LoseEachOther(first, second, noticed);
  const absl::Time end =
      agenda_.now() +
      std::max({outage, noticed, 2 * data_plane_.network().Latency(a, b)});
  outages_[{a, b}] = std::max(outages_[{a, b}], end);
  outages_[{b, a}] = outages_[{a, b}];
  agenda_.At(end, [this, first, second] { FindEachOther(first, second); });
}

void Simulation::DelayNews(NodeId node, absl::Time until) {
  if (!HasNode(node)) return;
  news_may_be_late_ = true;
  slot(node).deaf_until = std::max(slot(node).deaf_until, until);
}

void Simulation::Suspect(NodeId node) {
  if (HasNode(node)) Tell(kHeadNode, event::PeerDied{slot(node).ref});
}

}  // namespace hoplite::sim
