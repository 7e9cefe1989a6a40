#include "hoplite/core/event.h"

#include <string>

#include "hoplite/core/debug_print.h"

namespace hoplite {
namespace {

using debug_print::Field;

void Print(std::string& out, const event::PutRequested& value) {
  out = "PutRequested";
  Field(out, "request", value.request);
  Field(out, "object", value.object);
  Field(out, "size", value.size);
  Field(out, "deadline", value.deadline);
  Field(out, "payload", value.payload);
  Field(out, "streams", value.streams);
}
void Print(std::string& out, const event::PutFilled& value) {
  out = "PutFilled";
  Field(out, "request", value.request);
}
void Print(std::string& out, const event::GetRequested& value) {
  out = "GetRequested";
  Field(out, "request", value.request);
  Field(out, "object", value.object);
  Field(out, "deadline", value.deadline);
}
void Print(std::string& out, const event::DeleteRequested& value) {
  out = "DeleteRequested";
  Field(out, "request", value.request);
  Field(out, "object", value.object);
  Field(out, "deadline", value.deadline);
}
void Print(std::string& out, const event::ReduceRequested& value) {
  out = "ReduceRequested";
  Field(out, "request", value.request);
  Field(out, "target", value.target);
  Field(out, "sources", value.sources);
  Field(out, "count", value.count);
  Field(out, "op", value.op);
  Field(out, "type", value.type);
  Field(out, "deadline", value.deadline);
}
void Print(std::string& out, const event::RequestCancelled& value) {
  out = "RequestCancelled";
  Field(out, "request", value.request);
}
void Print(std::string& out, const event::MessageReceived& value) {
  out = "MessageReceived";
  Field(out, "from", value.from);
  Field(out, "message", value.message);
}
void Print(std::string& out, const event::PeerLost& value) {
  out = "PeerLost";
  Field(out, "peer", value.peer);
}
void Print(std::string& out, const event::JoinRequested& value) {
  out = "JoinRequested";
  Field(out, "token", value.token);
  Field(out, "control_address", value.control_address);
  Field(out, "data_address", value.data_address);
}
void Print(std::string& out, const event::LatencyMeasured& value) {
  out = "LatencyMeasured";
  Field(out, "latency", value.latency);
}
void Print(std::string& out, const event::BandwidthMeasured& value) {
  out = "BandwidthMeasured";
  Field(out, "bytes_per_second", value.bytes_per_second);
}
void Print(std::string& out, const event::BufferCreated& value) {
  out = "BufferCreated";
  Field(out, "buffer", value.buffer);
}
void Print(std::string& out, const event::BufferRefused& value) {
  out = "BufferRefused";
  Field(out, "buffer", value.buffer);
  Field(out, "capacity", value.capacity);
  Field(out, "evictable", value.evictable);
}
void Print(std::string& out, const event::RoomFreed&) { out = "RoomFreed"; }

void Print(std::string& out, const event::PullRequested& value) {
  out = "PullRequested";
  Field(out, "pull", value.pull);
  Field(out, "peer", value.peer);
  Field(out, "key", value.key);
  Field(out, "generation", value.generation);
  Field(out, "begin", value.begin);
  Field(out, "frame_bytes", value.frame_bytes);
}
void Print(std::string& out, const event::PullEnded& value) {
  out = "PullEnded";
  Field(out, "pull", value.pull);
}
void Print(std::string& out, const event::TransferDone& value) {
  out = "TransferDone";
  Field(out, "transfer", value.transfer);
}
void Print(std::string& out, const event::TransferFailed& value) {
  out = "TransferFailed";
  Field(out, "transfer", value.transfer);
  Field(out, "received", value.received);
  Field(out, "refused", value.refused);
}
void Print(std::string& out, const event::FoldDone& value) {
  out = "FoldDone";
  Field(out, "fold", value.fold);
}
void Print(std::string& out, const event::FoldFailed& value) {
  out = "FoldFailed";
  Field(out, "fold", value.fold);
  Field(out, "lost", value.lost);
}
void Print(std::string& out, const event::PayloadsFolded& value) {
  out = "PayloadsFolded";
  Field(out, "target", value.target);
  Field(out, "generation", value.generation);
  Field(out, "payload", value.payload);
}

}  // namespace

std::string DebugString(const Event& event) {
  std::string out;
  std::visit([&out](const auto& value) { Print(out, value); }, event);
  return out;
}

}  // namespace hoplite
