#include "hoplite/sim/data_plane_model.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "hoplite/base/check.h"

namespace hoplite::sim {

using Serving = Flow::Serving;

DataPlaneModel::DataPlaneModel(const DataPlaneOptions& options,
                               const NetworkOptions& network_options,
                               NodeHost* host)
    : options_(options),
      host_(host),
      network_(network_options, &host->agenda(), this) {}

Flow& DataPlaneModel::flow(StreamId stream) {
  return flows_[stream.value() - 1];
}

StreamId DataPlaneModel::Open(Flow opened) {
  const NodeId server = opened.server.node;
  const NodeId receiver = opened.receiver.node;
  opened.frame_bytes = std::max<std::uint64_t>(
      {opened.frame_bytes, options_.frame_bytes_min, 1});
  const absl::Duration latency = network_.Latency(server, receiver);
  const double bytes_on_the_way = absl::ToDoubleSeconds(2 * latency) *
                                  static_cast<double>(network_.Rate(server));
  opened.window_bytes =
      2 * opened.frame_bytes + static_cast<std::uint64_t>(bytes_on_the_way);
  opened.sent = opened.begin;
  const StreamId stream = network_.OpenStream(server, receiver);
  flows_.push_back(std::move(opened));
  HOPLITE_CHECK(stream.value() == flows_.size());
  host_->agenda().After(latency, [this, stream] { Ask(stream); });
  Meet(receiver, server);
  return stream;
}

void DataPlaneModel::Meet(NodeId node, NodeId peer) {
  if (node == peer) return;
  if (!met_.emplace(node, peer).second) return;
  const absl::Duration latency = network_.Latency(node, peer);
  host_->agenda().After(2 * latency, [this, node, latency] {
    host_->Tell(node, event::LatencyMeasured{latency});
  });
}

void DataPlaneModel::Ask(StreamId stream) {
  Flow& asked = flow(stream);
  if (asked.serving == Serving::kEnded) return;
  if (!host_->IsUp(asked.server)) {
    asked.serving = Serving::kEnded;
    FailReceiver(stream, false);
    return;
  }
  if (!host_->Reaches(asked.receiver, asked.server)) {
    asked.late = true;
    return;
  }
  const NodeId server = asked.server.node;
  PullId& last = last_pull_[server];
  last = last.Next();
  asked.pull = last;
  asked.serving = Serving::kAsked;
  pulls_[{server, asked.pull}] = stream;
  host_->Tell(server, event::PullRequested{asked.pull, asked.receiver,
                                           asked.key, asked.generation,
                                           asked.begin, asked.frame_bytes});
}

void DataPlaneModel::StartTransfer(NodeRef node,
                                   const command::StartTransfer& order) {
  const BufferModel* buffer = host_->store(node.node).Find(order.buffer);
  const std::string name = absl::StrCat("transfer ", order.transfer.value());
  if (transfers_.contains({node.node, order.transfer})) {
    host_->Complain(node.node, name + " is started twice");
    return;
  }
  if (buffer == nullptr || !buffer->machine_holds) {
    host_->Complain(node.node, name + " goes into a buffer that is not there");
    return;
  }
  if (buffer->size != order.size || order.begin > order.size) {
    host_->Complain(node.node, name + " does not fit its buffer");
    return;
  }
  if (order.begin < buffer->watermark()) {
    host_->Complain(node.node, name + " pulls bytes that are here already");
    return;
  }
  if (order.server.node == node.node) {
    host_->Complain(node.node, name + " pulls from its own node");
    return;
  }
  host_->store(node.node).Skip(order.buffer, order.begin);
  host_->store(node.node).Hold(order.buffer, StoreModel::Holder::kOrder);
  Flow opened;
  opened.receiver = node;
  opened.server = order.server;
  opened.key = order.key;
  opened.generation = order.generation;
  opened.begin = order.begin;
  opened.size = order.size;
  opened.frame_bytes = order.frame_bytes;
  opened.transfer = order.transfer;
  opened.into = order.buffer;
  transfers_[{node.node, order.transfer}] = Open(std::move(opened));
}

void DataPlaneModel::CancelTransfer(NodeRef node, TransferId transfer) {
  const auto found = transfers_.find({node.node, transfer});
  if (found == transfers_.end()) {
    host_->Complain(node.node,
                    absl::StrCat("cancels transfer ", transfer.value(),
                                 ", which never was"));
    return;
  }
  Flow& cancelled = flow(found->second);
  if (!cancelled.receiving) return;
  const std::uint64_t received =
      host_->store(node.node).Find(cancelled.into)->watermark();
  CloseReceiver(found->second);
  host_->Tell(node.node, event::TransferFailed{transfer, received, false});
}

Flow* DataPlaneModel::FindPull(NodeRef node, PullId pull) {
  const auto found = pulls_.find({node.node, pull});
  if (found == pulls_.end()) {
    host_->Complain(node.node, absl::StrCat("answers pull ", pull.value(),
                                            ", which never was"));
    return nullptr;
  }
  return &flow(found->second);
}

void DataPlaneModel::ServePull(NodeRef node, const command::ServePull& order) {
  Flow* const served = FindPull(node, order.pull);
  if (served == nullptr || served->serving == Serving::kEnded) return;
  const BufferModel* buffer = host_->store(node.node).Find(order.buffer);
  const std::string name = absl::StrCat("pull ", order.pull.value());
  if (served->serving == Serving::kSending) {
    host_->Complain(node.node, name + " is served twice");
    return;
  }
  if (buffer == nullptr || !buffer->machine_holds) {
    host_->Complain(node.node, name + " is served from no buffer");
    return;
  }
  if (buffer->size != served->size) {
    host_->Complain(node.node, name + " is served from one of another size");
    return;
  }
  BeginServing(pulls_.at({node.node, order.pull}), order.buffer);
}

void DataPlaneModel::BeginServing(StreamId stream, BufferId buffer) {
  Flow& served = flow(stream);
  const NodeId node = served.server.node;
  served.serving = Serving::kSending;
  served.from = buffer;
  host_->store(node).Hold(buffer, StoreModel::Holder::kOrder);
  host_->store(node).Touch(buffer);
  followers_[{node, buffer}].flows.insert(stream);
  if (served.begin < served.size) {
    network_.Wake(stream);
    return;
  }
  EndServing(stream);
  host_->agenda().After(network_.Latency(node, served.receiver.node),
                        [this, stream] { FinishReceiver(stream); });
}

void DataPlaneModel::EndServing(StreamId stream) {
  Flow& served = flow(stream);
  const NodeId node = served.server.node;
  if (served.serving == Serving::kEnded) return;
  const bool sending = served.serving == Serving::kSending;
  const bool asked = served.serving != Serving::kConnecting;
  served.serving = Serving::kEnded;
  if (!asked) return;
  host_->Tell(node, event::PullEnded{served.pull});
  if (!sending) return;
  const auto followed = followers_.find({node, served.from});
  followed->second.flows.erase(stream);
  if (followed->second.flows.empty() && followed->second.folds.empty()) {
    followers_.erase(followed);
  }
  host_->LetGo(node, served.from, StoreModel::Holder::kOrder);
}

void DataPlaneModel::RefusePull(NodeRef node, PullId pull) {
  Flow* const served = FindPull(node, pull);
  if (served == nullptr || served->serving == Serving::kEnded) return;
  const StreamId stream = pulls_.at({node.node, pull});
  EndServing(stream);
  FailReceiver(stream, true);
}

void DataPlaneModel::FailReceiver(StreamId stream, bool refused) {
  Flow& failed = flow(stream);
  failed.refused = refused;
  host_->agenda().After(
      network_.Latency(failed.server.node, failed.receiver.node),
      [this, stream] {
        flow(stream).failing = true;
        if (flow(stream).on_the_way.empty()) FailReceiverNow(stream);
      });
}

void DataPlaneModel::FailReceiverNow(StreamId stream) {
  Flow& failed = flow(stream);
  if (!failed.receiving) return;
  const NodeId node = failed.receiver.node;
  if (failed.for_fold) {
    failed.receiving = false;
    FoldInputFailed(failed.fold, failed.server);
    return;
  }
  const std::uint64_t received =
      host_->store(node).Find(failed.into)->watermark();
  CloseReceiver(stream);
  host_->Tell(node,
              event::TransferFailed{failed.transfer, received, failed.refused});
}

void DataPlaneModel::CloseReceiver(StreamId stream) {
  Flow& closed = flow(stream);
  if (!closed.receiving) return;
  closed.receiving = false;
  if (!closed.for_fold) {
    host_->LetGo(closed.receiver.node, closed.into, StoreModel::Holder::kOrder);
  }
  host_->agenda().After(
      network_.Latency(closed.receiver.node, closed.server.node),
      [this, stream] { EndServing(stream); });
}

void DataPlaneModel::FinishReceiver(StreamId stream) {
  Flow& done = flow(stream);
  if (!done.receiving) return;
  done.receiving = false;
  if (done.for_fold) {
    AdvanceFold(done.fold);
    return;
  }
  Measure(done);
  const NodeId node = done.receiver.node;
  host_->Tell(node, event::TransferDone{done.transfer});
  host_->LetGo(node, done.into, StoreModel::Holder::kOrder);
}

void DataPlaneModel::Measure(const Flow& done) {
  constexpr std::uint64_t kBytesMin = 64 << 10;
  const std::uint64_t bytes = done.size - done.begin;
  if (!options_.measures || bytes < kBytesMin) return;
  const absl::Duration taken = host_->agenda().now() - done.first_left;
  if (taken <= absl::ZeroDuration()) return;
  host_->Tell(done.receiver.node,
              event::BandwidthMeasured{static_cast<double>(bytes) /
                                       absl::ToDoubleSeconds(taken)});
}

std::uint64_t DataPlaneModel::ReadyBytes(StreamId stream) {
  const Flow& served = flow(stream);
  if (served.serving != Serving::kSending || served.sent == served.size ||
      !host_->Reaches(served.server, served.receiver) ||
      !host_->Reaches(served.receiver, served.server)) {
    return 0;
  }
  const std::uint64_t end =
      std::min(served.sent + served.frame_bytes, served.size);
  const BufferModel* buffer =
      host_->store(served.server.node).Find(served.from);
  if (buffer->watermark() < end) return 0;
  const std::uint64_t bytes = end - served.sent;
  if (served.unconsumed > 0 &&
      served.unconsumed + bytes > served.window_bytes) {
    return 0;
  }
  return bytes;
}

Frame DataPlaneModel::FrameLeaves(StreamId stream) {
  Flow& served = flow(stream);
  const ByteRange range{served.sent, served.sent + ReadyBytes(stream)};
  const BufferModel* buffer =
      host_->store(served.server.node).Find(served.from);
  Segments content = buffer->content.Slice(range);
  host_->Report(FrameSent{served.server, served.receiver, served.key,
                          served.generation, content});
  if (served.next_departure == 0) served.first_left = host_->agenda().now();
  served.on_the_way.push_back(std::move(content));
  served.sent = range.end;
  served.unconsumed += range.size();
  return Frame{served.next_departure++, served.sent == served.size};
}

void DataPlaneModel::LastFrameLeft(StreamId stream) { EndServing(stream); }

void DataPlaneModel::FrameArrived(StreamId stream, std::uint64_t frame) {
  Flow& served = flow(stream);
  HOPLITE_CHECK(frame == served.next_arrival);
  ++served.next_arrival;
  const Segments content = std::move(served.on_the_way.front());
  served.on_the_way.pop_front();
  const std::uint64_t bytes = content.end() - content.begin();
  if (!served.receiving) {
    Consume(stream, bytes);
    return;
  }
  if (served.for_fold) {
    folds_[served.fold].landed[served.input].Append(content);
    if (content.end() == served.size) served.receiving = false;
    AdvanceFold(served.fold);
  } else {
    const NodeId node = served.receiver.node;
    if (host_->store(node).Find(served.into)->watermark() != content.begin()) {
      host_->Complain(node, absl::StrCat("has two orders that write buffer ",
                                         served.into.value()));
      return;
    }
    host_->store(node).Append(served.into, content);
    Consume(stream, bytes);
    host_->BufferAdvanced(node, served.into);
    if (content.end() == served.size) FinishReceiver(stream);
  }
  if (served.failing && served.on_the_way.empty()) FailReceiverNow(stream);
}

void DataPlaneModel::Consume(StreamId stream, std::uint64_t bytes) {
  Flow& served = flow(stream);
  served.unconsumed -= bytes;
  if (served.serving == Serving::kSending && served.sent < served.size) {
    network_.Wake(stream);
  }
}

void DataPlaneModel::BufferAdvanced(NodeId node, BufferId buffer) {
  const auto followed = followers_.find({node, buffer});
  if (followed == followers_.end()) return;
  for (StreamId stream : followed->second.flows) network_.Wake(stream);
  // A fold that ends stops following.
  const std::vector<std::uint32_t> folds(followed->second.folds.begin(),
                                         followed->second.folds.end());
  for (std::uint32_t index : folds) AdvanceFold(index);
}

void DataPlaneModel::BufferFailed(NodeId node, BufferId buffer) {
  const auto followed = followers_.find({node, buffer});
  if (followed == followers_.end()) return;
  const Followers followers = followed->second;
  for (StreamId stream : followers.flows) {
    if (flow(stream).sent == flow(stream).size) continue;
    EndServing(stream);
    FailReceiver(stream, false);
  }
  for (std::uint32_t index : followers.folds) {
    FoldInputFailed(index, folds_[index].node);
  }
}

std::uint64_t DataPlaneModel::served_count() const {
  std::uint64_t count = 0;
  for (const Flow& each : flows_) {
    if (each.serving == Serving::kSending && each.receiving) ++count;
  }
  return count;
}

void DataPlaneModel::Break(std::uint64_t index) {
  HOPLITE_CHECK(index < served_count());
  for (std::size_t i = 0; i < flows_.size(); ++i) {
    if (flows_[i].serving != Serving::kSending || !flows_[i].receiving) {
      continue;
    }
    if (index-- > 0) continue;
    const StreamId stream(static_cast<std::uint32_t>(i + 1));
    EndServing(stream);
    FailReceiverNow(stream);
    return;
  }
}

DataPlaneLoad DataPlaneModel::Load() const {
  DataPlaneLoad load;
  for (const Flow& each : flows_) {
    if (each.receiving || each.serving != Serving::kEnded) ++load.flows;
  }
  for (const FoldState& each : folds_) {
    if (!each.ended) ++load.folds;
  }
  return load;
}

}  // namespace hoplite::sim
