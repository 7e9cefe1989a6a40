// How a simulation carries out each command.

#include <utility>

#include "absl/strings/str_cat.h"
#include "hoplite/sim/message_size.h"
#include "hoplite/sim/simulation.h"
#include "hoplite/sim/simulation_slot.h"

namespace hoplite::sim {

void Simulation::Execute(Slot& slot, const command::Send& order) {
  const bool member_at_start = order.to.node.value() <= options_.node_count;
  if (slot.forgotten.contains(order.to)) return;
  if (!member_at_start && order.to != slot.ref &&
      !slot.learned.contains(order.to)) {
    if (news_may_be_late_) {
      slot.to_strangers.push_back(order);
      return;
    }
    Complain(slot.ref.node, absl::StrCat("sends to ", ToString(order.to.node),
                                         ", which it does not know"));
    return;
  }
  data_plane_.Meet(slot.ref.node, order.to.node);
  const Way way(slot.ref.node, order.to.node);
  data_plane_.network().SendControl(
      slot.ref.node, order.to.node, WireBytes(order.message),
      [this, letter = Letter{slot.ref, order.to, slot.cluster, ages_[way],
                             order.message}] { Arrive(letter); });
}

void Simulation::Execute(Slot& slot, const command::Admit& order) {
  const auto returns = returns_.find(order.token);
  if (returns != returns_.end()) {
    const NodeRef to = std::exchange(returns->second, NodeRef());
    agenda_.After(
        data_plane_.network().Latency(slot.ref.node, to.node),
        [this, to, order] {
          if (!IsUp(to)) return;
          this->slot(to.node).seeks.reset();
          Tell(to.node, event::HeadFound{order.members, order.shard_map});
        });
    return;
  }
  // In the order of the stream to the new node, before what follows.
  const std::uint64_t bytes =
      WireBytes(message::MapUpdate{order.shard_map.assignments()});
  data_plane_.network().SendControl(
      slot.ref.node, order.member.ref.node, bytes,
      [this, order, head = slot.ref, cluster = slot.cluster] {
        // The answer is lost with the head that gave it.
        if (!IsUp(head) || this->slot(kHeadNode).cluster != cluster) return;
        // Ids are of one cluster, and a run keeps nodes by theirs: whoever is
        // admitted by the head of another waits until that succeeds.
        const NodeId id = order.member.ref.node;
        if (HasNode(id) && this->slot(id).cluster != cluster) return;
        if (!admitted_.insert(order.token).second) return;
        if (HasNode(id)) {
          Complain(kHeadNode, absl::StrCat("admits somebody as ", ToString(id),
                                           ", which is up"));
          return;
        }
        NodeConfig config;
        config.self = order.member.ref;
        config.cluster = cluster;
        config.seed = options_.seed + order.member.ref.node.value();
        config.members = order.members;
        config.shard_map = order.shard_map;
        StartNode(std::move(config));
      });
}

void Simulation::Execute(Slot& slot, const command::RefuseReturn& order) {
  const auto returns = returns_.find(order.token);
  if (returns == returns_.end()) return;
  const NodeRef to = std::exchange(returns->second, NodeRef());
  agenda_.After(data_plane_.network().Latency(slot.ref.node, to.node),
                [this, to, reason = order.reason] {
                  if (!IsUp(to)) return;
                  this->slot(to.node).seeks.reset();
                  Tell(to.node, event::Fenced{reason});
                });
}

void Simulation::Execute(Slot& slot, const command::SeekHead& order) {
  slot.seeks = order;
  TrySeek(slot.ref, ++slot.seek_number);
}

void Simulation::Execute(Slot& slot, const command::EndLife& order) {
  agenda_.After(absl::ZeroDuration(), [this, node = slot.ref, order] {
    if (IsUp(node)) EndLife(node, order);
  });
}

void Simulation::Execute(Slot& slot, const command::LearnMember& order) {
  slot.learned.insert(order.member.ref);
  for (const command::Send& kept : std::exchange(slot.to_strangers, {})) {
    Execute(slot, kept);
  }
}

void Simulation::Execute(Slot& slot, const command::ForgetMember& order) {
  slot.learned.erase(order.member);
  slot.forgotten.insert(order.member);
  data_plane_.BreakBetween(slot.ref, order.member);
  if (!IsUp(order.member)) return;
  Tell(order.member.node, event::PeerLost{slot.ref});
}

void Simulation::Execute(Slot& slot, const command::CreateBuffer& order) {
  const NodeId node = slot.ref.node;
  const std::string name = absl::StrCat("buffer ", order.buffer.value());
  if (!slot.ever_created.insert(order.buffer).second) {
    Complain(node, name + " is created twice");
    return;
  }
  if (!slot.store.Create(order.buffer, order.size)) {
    slot.refused.insert(order.buffer);
    Tell(node, event::BufferRefused{order.buffer, slot.store.capacity(),
                                    slot.store.Evictable()});
    return;
  }
  if (order.payload != nullptr) {
    if (order.payload->size() != order.size || !ContentOf(order.payload)) {
      Complain(node, name + " is filled with a payload that does not fit");
    } else if (order.size > 0) {
      Segments content;
      content.Append(order.size, ContentOf(order.payload));
      slot.store.Append(order.buffer, content);
    }
  }
  Tell(node, event::BufferCreated{order.buffer});
}

void Simulation::Execute(Slot& slot, const command::ReleaseBuffer& order) {
  const NodeId node = slot.ref.node;
  // The machine has not heard yet that there is no such buffer.
  if (slot.refused.erase(order.buffer) > 0) return;
  const BufferModel* const buffer = slot.store.Find(order.buffer);
  if (buffer == nullptr || !buffer->machine_holds) {
    Complain(node, absl::StrCat("releases buffer ", order.buffer.value(),
                                ", which it does not hold"));
    return;
  }
  if (order.failed) {
    slot.store.MarkFailed(order.buffer);
    data_plane_.BufferFailed(node, order.buffer);
  }
  LetGo(node, order.buffer, StoreModel::Holder::kMachine);
}

void Simulation::Execute(Slot& slot, const command::StartTransfer& order) {
  data_plane_.StartTransfer(slot.ref, order);
}
void Simulation::Execute(Slot& slot, const command::CancelTransfer& order) {
  data_plane_.CancelTransfer(slot.ref, order.transfer);
}
void Simulation::Execute(Slot& slot, const command::ServePull& order) {
  data_plane_.ServePull(slot.ref, order);
}
void Simulation::Execute(Slot& slot, const command::RefusePull& order) {
  data_plane_.RefusePull(slot.ref, order.pull);
}
void Simulation::Execute(Slot& slot, const command::StartFold& order) {
  data_plane_.StartFold(slot.ref, order);
}
void Simulation::Execute(Slot& slot, const command::CancelFold& order) {
  data_plane_.CancelFold(slot.ref, order.fold);
}

void Simulation::Execute(Slot& slot, const command::FoldPayloads& order) {
  const NodeId node = slot.ref.node;
  std::vector<ContentId> inputs;
  for (const Payload& payload : order.payloads) {
    inputs.push_back(ContentOf(payload));
    if (payload == nullptr || payload->size() != order.payloads[0]->size()) {
      Complain(node, "folds payloads of different sizes");
      return;
    }
  }
  if (inputs.empty()) {
    Complain(node, "folds no payloads");
    return;
  }
  const ContentId content = contents_.Fold(
      FoldRule{order.target, order.op, order.type}, order.divisor, inputs);
  Tell(node,
       event::PayloadsFolded{order.target, order.generation,
                             PayloadOf(content, order.payloads[0]->size())});
}

void Simulation::Execute(Slot& slot, const command::HandBuffer& order) {
  clients_.HandBuffer(slot.ref.node, order);
}
void Simulation::Execute(Slot& slot, const command::AnswerRequest& order) {
  clients_.Answer(slot.ref.node, order);
}

}  // namespace hoplite::sim
