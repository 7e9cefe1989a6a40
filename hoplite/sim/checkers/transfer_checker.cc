#include "hoplite/sim/checkers/transfer_checker.h"

#include <algorithm>
#include <cmath>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "hoplite/core/config.h"
#include "hoplite/sim/bounds.h"

namespace hoplite::sim {
std::uint32_t DegreeBound(std::uint64_t size, std::uint32_t nodes,
                          const NetworkOptions& network) {
  // The more latency and bandwidth, the higher the degree: the highest that a
  // node may believe in. It takes the time of a Put's answer for a round trip,
  // which has waited for other messages and frames.
  constexpr double kQueues = 10;
  const double latency =
      absl::ToDoubleSeconds(kLatencyUntilMeasured) +
      kQueues * absl::ToDoubleSeconds(network.latency + network.latency_spread +
                                      network.frame_cost);
  const double rate = std::max(kBandwidthUntilMeasured,
                               static_cast<double>(network.bytes_per_second));
  const double bytes = static_cast<double>(size);
  std::uint32_t best = 1;
  double best_time = 0;
  for (std::uint32_t degree = 1; degree < nodes; ++degree) {
    const std::uint32_t hops = TreeHops(nodes, degree);
    // Twice the best frame: it is rounded.
    const double frame =
        2 * std::max(static_cast<double>(kFrameBytesMin),
                     std::sqrt(bytes * rate *
                               absl::ToDoubleSeconds(kFrameCost) / hops));
    const double time = degree * bytes / rate +
                        hops * (latency + std::min(frame, bytes) / rate);
    if (degree == 1 || time <= best_time) {
      best = degree;
      best_time = time;
    }
  }
  return best;
}

void TransferChecker::Add(absl::Time now, const ObjectId& object,
                          absl::string_view what) {
  violations_->Add(
      kName, now,
      absl::StrCat("object ", object.ToHex().substr(0, 8), ": ", what));
}

void TransferChecker::OnEvent(absl::Time, NodeRef node, const Event& event) {
  if (const auto* done = std::get_if<event::TransferDone>(&event)) {
    EndEdge(node.node, done->transfer, true);
  } else if (const auto* failed = std::get_if<event::TransferFailed>(&event)) {
    EndEdge(node.node, failed->transfer, false);
  }
}

void TransferChecker::OnCommand(absl::Time now, NodeRef node,
                                const Command& command) {
  if (const auto* start = std::get_if<command::StartTransfer>(&command)) {
    AddEdge(now, node, *start);
  } else if (const auto* end = std::get_if<command::CancelTransfer>(&command)) {
    EndEdge(node.node, end->transfer, false);
  } else if (const auto* send = std::get_if<command::Send>(&command)) {
    const auto* gone = std::get_if<message::Withdraw>(&send->message);
    if (gone != nullptr) Orphan(gone->object, node.node);
  } else if (const auto* out = std::get_if<command::ReleaseBuffer>(&command)) {
    const auto found = whole_.find({node.node, out->buffer});
    if (found == whole_.end()) return;
    held_.erase({node.node, found->second});
    whole_.erase(found);
  } else if (std::holds_alternative<command::ForgetMember>(command)) {
    shards_moved_ = true;  // also where the member only seemed to be dead
  }
}

void TransferChecker::AddEdge(absl::Time now, NodeRef node,
                              const command::StartTransfer& order) {
  if (order.key.is_output()) return;
  const ObjectId& object = order.key.object;
  if (!fetching_.emplace(node.node, object).second) {
    Add(now, object,
        absl::StrCat(ToString(node.node), " fetches it twice at a time"));
    return;
  }
  if (held_.contains({node.node, object})) {
    Add(now, object, absl::StrCat(ToString(node.node), " fetches what it has"));
  }
  const GraphKey key(object, order.generation);
  Graph& graph = graphs_[key];
  const NodeId server = order.server.node;
  const bool orphan = graph.orphans.erase(node.node) > 0;
  graph.edges[node.node] = Edge{server, order.buffer, orphan};
  under_way_[{node.node, order.transfer}] = key;
  CheckCircle(now, key, node.node);
  if (orphan) return;
  ++graph.receivers[server];
  CheckDegree(now, key, server, order.size);
}

void TransferChecker::CheckDegree(absl::Time now, const GraphKey& key,
                                  NodeId server, std::uint64_t size) {
  const std::uint32_t receivers = graphs_[key].receivers[server];
  // A new host may grant a slot before it has heard who has it.
  if (shards_moved_) return;
  if (receivers < 2 || simulation_->options().schedule == Schedule::kPlain) {
    return;
  }
  const auto count = simulation_->started_count();
  const auto [bound, is_new] = bounds_.try_emplace({size, count}, 0);
  if (is_new) {
    bound->second = DegreeBound(size, count, simulation_->options().network);
  }
  if (receivers <= bound->second) return;
  Add(now, key.first,
      absl::StrCat(ToString(server), " serves ", receivers,
                   " receivers; the degree is at most ", bound->second));
}

void TransferChecker::Orphan(const ObjectId& object, NodeId server) {
  for (auto found = graphs_.lower_bound(GraphKey(object, Generation()));
       found != graphs_.end() && found->first.first == object; ++found) {
    found->second.receivers.erase(server);
    for (auto& [receiver, edge] : found->second.edges) {
      if (edge.server == server) edge.orphan = true;
    }
  }
}

void TransferChecker::CheckCircle(absl::Time now, const GraphKey& key,
                                  NodeId receiver) {
  const Graph& graph = graphs_[key];
  NodeId at = receiver;
  for (std::size_t hops = 0; hops <= graph.edges.size(); ++hops) {
    const auto next = graph.edges.find(at);
    if (next == graph.edges.end()) return;
    at = next->second.server;
    if (at == receiver) {
      Add(now, key.first,
          absl::StrCat(ToString(receiver), " fetches in a circle"));
      return;
    }
  }
}

void TransferChecker::EndEdge(NodeId node, TransferId transfer, bool complete) {
  const auto found = under_way_.find({node, transfer});
  if (found == under_way_.end()) return;
  const GraphKey key = found->second;
  under_way_.erase(found);
  fetching_.erase({node, key.first});
  Graph& graph = graphs_[key];
  const auto edge = graph.edges.find(node);
  if (complete) {
    whole_[{node, edge->second.buffer}] = key.first;
    held_.insert({node, key.first});
  }
  if (!complete) graph.orphans.insert(node);
  if (!edge->second.orphan) --graph.receivers[edge->second.server];
  graph.edges.erase(edge);
}

void TransferChecker::OnNodeDown(absl::Time, NodeRef node) {
  shards_moved_ = true;
  std::vector<TransferId> ended;
  for (const auto& [transfer, key] : under_way_) {
    if (transfer.first == node.node) ended.push_back(transfer.second);
  }
  for (TransferId transfer : ended) EndEdge(node.node, transfer, false);
  const auto of_node = [&](const auto& entry) {
    return entry.first.first == node.node;
  };
  std::erase_if(whole_, of_node);
  std::erase_if(held_,
                [&](const auto& entry) { return entry.first == node.node; });
}

void TransferChecker::OnFrameSent(absl::Time now, const FrameSent& frame) {
  const ObjectId& object = frame.key.object;
  for (const Segment& piece : frame.content.pieces()) {
    if (!piece.content) {
      Add(now, object,
          absl::StrCat(ToString(frame.server.node),
                       " sends a range that it does not hold"));
      continue;
    }
    const auto of = std::make_pair(frame.key, frame.generation);
    const auto [known, first] = of_generation_.emplace(of, piece.content);
    if (!first && known->second != piece.content) {
      Add(now, object,
          absl::StrCat(ToString(frame.server.node),
                       " sends other bytes as generation ",
                       ToString(frame.generation)));
    }
    if (!plausible_.emplace(object, piece.content).second) continue;
    if (!history_->MayStandFor(object, piece.content)) {
      Add(now, object,
          absl::StrCat(ToString(frame.server.node),
                       " sends what belongs to another object: ",
                       simulation_->contents().Describe(piece.content)));
    }
  }
}

}  // namespace hoplite::sim
