#include "hoplite/sim/network_model.h"

#include <algorithm>
#include <utility>

#include "hoplite/base/check.h"
#include "hoplite/base/random.h"

namespace hoplite::sim {

NetworkModel::NetworkModel(const NetworkOptions& options, Agenda* agenda,
                           FrameSource* source)
    : options_(options), agenda_(agenda), source_(source) {
  HOPLITE_CHECK(options.bytes_per_second > 0);
}

NetworkModel::Host& NetworkModel::host(NodeId node) {
  Host& found = hosts_[node];
  if (found.bytes_per_second == 0) {
    found.bytes_per_second = options_.bytes_per_second;
  }
  return found;
}

absl::Duration NetworkModel::Latency(NodeId a, NodeId b) const {
  if (a == b) return options_.local_latency;
  if (options_.latency_spread == absl::ZeroDuration()) return options_.latency;
  const std::uint64_t pair =
      (std::uint64_t{std::min(a, b).value()} << 32) | std::max(a, b).value();
  Random random(options_.seed ^ (pair * 0x9e3779b97f4a7c15u));
  constexpr std::uint64_t kShares = 1000;
  return options_.latency + options_.latency_spread *
                                static_cast<int>(random.Below(kShares)) /
                                static_cast<int>(kShares);
}

std::uint64_t NetworkModel::Rate(NodeId node) const {
  const auto found = hosts_.find(node);
  return found == hosts_.end() ? options_.bytes_per_second
                               : found->second.bytes_per_second;
}

void NetworkModel::SetRate(NodeId node, std::uint64_t bytes_per_second) {
  HOPLITE_CHECK(bytes_per_second > 0);
  host(node).bytes_per_second = bytes_per_second;
}

absl::Duration NetworkModel::TimeFor(std::uint64_t bytes,
                                     std::uint64_t bytes_per_second) {
  constexpr std::uint64_t kNanosecondsPerSecond = 1'000'000'000;
  // Whole seconds apart, so that the product stays below 2^64.
  const std::uint64_t seconds = bytes / bytes_per_second;
  const std::uint64_t rest = bytes % bytes_per_second;
  return absl::Seconds(static_cast<std::int64_t>(seconds)) +
         absl::Nanoseconds(static_cast<std::int64_t>(
             (rest * kNanosecondsPerSecond + bytes_per_second - 1) /
             bytes_per_second));
}

absl::Time NetworkModel::Transmit(NodeId from, std::uint64_t bytes) {
  Host& sender = host(from);
  const absl::Time start = std::max(agenda_->now(), sender.up.free_at);
  sender.up.free_at = start + TimeFor(bytes, sender.bytes_per_second);
  return sender.up.free_at;
}

void NetworkModel::Receive(NodeId to, std::uint64_t bytes, absl::Time first_bit,
                           absl::Time last_bit, absl::Duration cost,
                           Agenda::Action arrived) {
  agenda_->At(first_bit, [this, to, bytes, last_bit, cost,
                          arrived = std::move(arrived)]() mutable {
    Host& receiver = host(to);
    const absl::Time start = std::max(agenda_->now(), receiver.down.free_at);
    receiver.down.free_at = start + TimeFor(bytes, receiver.bytes_per_second);
    agenda_->At(std::max(receiver.down.free_at, last_bit) + cost,
                std::move(arrived));
  });
}

void NetworkModel::SendControl(NodeId from, NodeId to, std::uint64_t bytes,
                               Agenda::Action arrived) {
  const absl::Duration latency = Latency(from, to);
  if (from == to) {
    agenda_->After(latency, std::move(arrived));
    return;
  }
  const absl::Time left = Transmit(from, bytes);
  const absl::Time began = left - TimeFor(bytes, host(from).bytes_per_second);
  Receive(to, bytes, began + latency, left + latency, absl::ZeroDuration(),
          std::move(arrived));
}

StreamId NetworkModel::OpenStream(NodeId server, NodeId receiver) {
  host(server);
  host(receiver);
  streams_.push_back(Stream{server, receiver});
  return StreamId(static_cast<std::uint32_t>(streams_.size()));
}

void NetworkModel::Wake(StreamId id) {
  Stream& stream = streams_[id.value() - 1];
  if (stream.in_turn) return;
  stream.in_turn = true;
  host(stream.server).ready.push_back(id);
  SchedulePump(stream.server);
}

void NetworkModel::SchedulePump(NodeId node) {
  Host& sender = host(node);
  if (sender.pump_due || sender.ready.empty()) return;
  sender.pump_due = true;
  agenda_->At(std::max(agenda_->now(), sender.up.free_at), [this, node] {
    host(node).pump_due = false;
    Pump(node);
  });
}

void NetworkModel::Pump(NodeId node) {
  Host& sender = host(node);
  while (!sender.ready.empty() && sender.up.free_at <= agenda_->now()) {
    const StreamId id = sender.ready.front();
    sender.ready.pop_front();
    Stream& stream = streams_[id.value() - 1];
    const std::uint64_t bytes = source_->ReadyBytes(id);
    if (bytes == 0) {
      stream.in_turn = false;
      continue;
    }
    sender.ready.push_back(id);
    const Frame frame = source_->FrameLeaves(id);
    const absl::Duration latency = Latency(stream.server, stream.receiver);
    const absl::Time left = Transmit(node, bytes);
    sender.stream_bytes_sent += bytes;
    if (frame.last) {
      agenda_->At(left, [this, id] { source_->LastFrameLeft(id); });
    }
    Receive(stream.receiver, bytes, agenda_->now() + latency, left + latency,
            options_.frame_cost, [this, id, number = frame.number] {
              source_->FrameArrived(id, number);
            });
  }
  SchedulePump(node);
}

std::uint64_t NetworkModel::stream_bytes_sent(NodeId node) const {
  const auto found = hosts_.find(node);
  return found == hosts_.end() ? 0 : found->second.stream_bytes_sent;
}

}  // namespace hoplite::sim
