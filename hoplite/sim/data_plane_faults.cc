// What becomes of streams and folds when nodes end, stand still, or are cut
// off.

#include "hoplite/sim/data_plane_model.h"

namespace hoplite::sim {

using Serving = Flow::Serving;

void DataPlaneModel::NodeDown(NodeRef node) {
  for (std::uint32_t i = 0; i < folds_.size(); ++i) {
    if (folds_[i].node == node) folds_[i].ended = true;
  }
  const auto of_node = [&](const auto& entry) {
    return entry.first.first == node.node;
  };
  std::erase_if(transfers_, of_node);
  std::erase_if(fold_ids_, of_node);
  std::erase_if(followers_, of_node);
  for (std::size_t i = 0; i < flows_.size(); ++i) {
    const StreamId stream(static_cast<std::uint32_t>(i + 1));
    Flow& each = flows_[i];
    if (each.server == node && each.serving != Serving::kEnded) {
      each.serving = Serving::kEnded;
      FailReceiver(stream, false);
    }
    if (each.receiver == node && each.receiving) {
      each.receiving = false;
      host_->agenda().After(
          network_.Latency(each.receiver.node, each.server.node),
          [this, stream] { EndServing(stream); });
    }
  }
  std::erase_if(pulls_, of_node);
}

void DataPlaneModel::BreakBetween(NodeRef a, NodeRef b) {
  for (std::size_t i = 0; i < flows_.size(); ++i) {
    const Flow& each = flows_[i];
    const bool between = (each.server == a && each.receiver == b) ||
                         (each.server == b && each.receiver == a);
    if (!between) continue;
    const StreamId stream(static_cast<std::uint32_t>(i + 1));
    EndServing(stream);
    FailReceiverNow(stream);
  }
}

void DataPlaneModel::WakeAll() {
  for (std::size_t i = 0; i < flows_.size(); ++i) {
    const StreamId stream(static_cast<std::uint32_t>(i + 1));
    if (flows_[i].serving == Serving::kSending) network_.Wake(stream);
    if (!flows_[i].late ||
        !host_->Reaches(flows_[i].receiver, flows_[i].server)) {
      continue;
    }
    flows_[i].late = false;
    Ask(stream);
  }
}

}  // namespace hoplite::sim
