#include "hoplite/core/message.h"

#include <string>

#include "hoplite/core/debug_print.h"

namespace hoplite {
namespace message {

namespace {

bool SameBytes(const Payload& a, const Payload& b) {
  if (a == nullptr || b == nullptr) return a == b;
  return *a == *b;
}

}  // namespace

bool operator==(const GrantInline& a, const GrantInline& b) {
  return a.at == b.at && a.object == b.object && a.ask == b.ask &&
         a.generation == b.generation && SameBytes(a.payload, b.payload);
}

bool operator==(const PutBegun& a, const PutBegun& b) {
  return a.at == b.at && a.object == b.object && a.generation == b.generation &&
         a.size == b.size && a.sealed == b.sealed && a.streams == b.streams &&
         SameBytes(a.payload, b.payload);
}

bool operator==(const SourceEntry& a, const SourceEntry& b) {
  return a.object == b.object && a.state == b.state &&
         a.generation == b.generation && a.size == b.size &&
         a.holder == b.holder && SameBytes(a.payload, b.payload);
}

}  // namespace message

namespace {

using debug_print::Field;

void Print(std::string& out, const message::MemberJoined& value) {
  out = "MemberJoined";
  Field(out, "member", value.member);
}
void Print(std::string& out, const message::MemberLost& value) {
  out = "MemberLost";
  Field(out, "member", value.member);
}
void Print(std::string& out, const message::Leave&) { out = "Leave"; }
void Print(std::string& out, const message::MapUpdate& value) {
  out = "MapUpdate";
  Field(out, "assignments", value.assignments);
}
void Print(std::string& out, const message::CloseShards& value) {
  out = "CloseShards";
  Field(out, "shards", value.shards);
}
void Print(std::string& out, const message::ShardsClosed& value) {
  out = "ShardsClosed";
  Field(out, "shards", value.shards);
}
void Print(std::string& out, const message::StaleEpoch& value) {
  out = "StaleEpoch";
  Field(out, "newer", value.newer);
}
void Print(std::string& out, const message::Ask& value) {
  out = "Ask";
  Field(out, "at", value.at);
  Field(out, "object", value.object);
  Field(out, "ask", value.ask);
  Field(out, "held", value.held);
  Field(out, "begin", value.begin);
  Field(out, "lost", value.lost);
}
void Print(std::string& out, const message::Grant& value) {
  out = "Grant";
  Field(out, "at", value.at);
  Field(out, "object", value.object);
  Field(out, "ask", value.ask);
  Field(out, "generation", value.generation);
  Field(out, "size", value.size);
  Field(out, "frame_bytes", value.frame_bytes);
  Field(out, "server", value.server);
  Field(out, "final", value.final);
}
void Print(std::string& out, const message::GrantInline& value) {
  out = "GrantInline";
  Field(out, "at", value.at);
  Field(out, "object", value.object);
  Field(out, "ask", value.ask);
  Field(out, "generation", value.generation);
  Field(out, "payload", value.payload);
}
void Print(std::string& out, const message::Refusal& value) {
  out = "Refusal";
  Field(out, "at", value.at);
  Field(out, "object", value.object);
  Field(out, "ask", value.ask);
  Field(out, "code", value.code);
  Field(out, "reason", value.reason);
}
void Print(std::string& out, const message::Withdraw& value) {
  out = "Withdraw";
  Field(out, "at", value.at);
  Field(out, "object", value.object);
  Field(out, "ask", value.ask);
}
void Print(std::string& out, const message::CopyComplete& value) {
  out = "CopyComplete";
  Field(out, "at", value.at);
  Field(out, "object", value.object);
  Field(out, "generation", value.generation);
}
void Print(std::string& out, const message::PutBegun& value) {
  out = "PutBegun";
  Field(out, "at", value.at);
  Field(out, "object", value.object);
  Field(out, "generation", value.generation);
  Field(out, "size", value.size);
  Field(out, "sealed", value.sealed);
  Field(out, "streams", value.streams);
  Field(out, "payload", value.payload);
}
void Print(std::string& out, const message::PutAnswer& value) {
  out = "PutAnswer";
  Field(out, "at", value.at);
  Field(out, "object", value.object);
  Field(out, "generation", value.generation);
  Field(out, "code", value.code);
}
void Print(std::string& out, const message::PutSealed& value) {
  out = "PutSealed";
  Field(out, "at", value.at);
  Field(out, "object", value.object);
  Field(out, "generation", value.generation);
}
void Print(std::string& out, const message::PutAborted& value) {
  out = "PutAborted";
  Field(out, "at", value.at);
  Field(out, "object", value.object);
  Field(out, "generation", value.generation);
}
void Print(std::string& out, const message::DeleteAsk& value) {
  out = "DeleteAsk";
  Field(out, "at", value.at);
  Field(out, "object", value.object);
  Field(out, "request", value.request);
}
void Print(std::string& out, const message::DeleteAnswer& value) {
  out = "DeleteAnswer";
  Field(out, "object", value.object);
  Field(out, "request", value.request);
  Field(out, "code", value.code);
}
void Print(std::string& out, const message::Drop& value) {
  out = "Drop";
  Field(out, "at", value.at);
  Field(out, "object", value.object);
  Field(out, "generation", value.generation);
  Field(out, "code", value.code);
  Field(out, "reason", value.reason);
}
void Print(std::string& out, const message::Dropped& value) {
  out = "Dropped";
  Field(out, "at", value.at);
  Field(out, "object", value.object);
  Field(out, "generation", value.generation);
}
void Print(std::string& out, const message::EvictAsk& value) {
  out = "EvictAsk";
  Field(out, "entries", value.entries);
}
void Print(std::string& out, const message::EvictAnswer& value) {
  out = "EvictAnswer";
  Field(out, "allowed", value.allowed);
  Field(out, "denied", value.denied);
}
void Print(std::string& out, const message::Final& value) {
  out = "Final";
  Field(out, "at", value.at);
  Field(out, "object", value.object);
  Field(out, "generation", value.generation);
}
void Print(std::string& out, const message::ReduceAsk& value) {
  out = "ReduceAsk";
  Field(out, "at", value.at);
  Field(out, "target", value.target);
  Field(out, "request", value.request);
  Field(out, "sources", value.sources);
  Field(out, "count", value.count);
  Field(out, "op", value.op);
  Field(out, "type", value.type);
}
void Print(std::string& out, const message::ReduceAnswer& value) {
  out = "ReduceAnswer";
  Field(out, "target", value.target);
  Field(out, "request", value.request);
  Field(out, "code", value.code);
  Field(out, "reason", value.reason);
  Field(out, "sources", value.sources);
}
void Print(std::string& out, const message::WatchSources& value) {
  out = "WatchSources";
  Field(out, "target", value.target);
  Field(out, "entries", value.entries);
}
void Print(std::string& out, const message::UnwatchSources& value) {
  out = "UnwatchSources";
  Field(out, "target", value.target);
  Field(out, "entries", value.entries);
}
void Print(std::string& out, const message::SourceNews& value) {
  out = "SourceNews";
  Field(out, "target", value.target);
  Field(out, "entries", value.entries);
}
void Print(std::string& out, const message::Assignment& value) {
  out = "Assignment";
  Field(out, "at", value.at);
  Field(out, "target", value.target);
  Field(out, "position", value.position);
  Field(out, "output", value.output);
  Field(out, "source", value.source);
  Field(out, "source_generation", value.source_generation);
  Field(out, "inputs", value.inputs);
  Field(out, "op", value.op);
  Field(out, "type", value.type);
  Field(out, "size", value.size);
  Field(out, "frame_bytes", value.frame_bytes);
  Field(out, "divisor", value.divisor);
  Field(out, "root", value.root);
}
void Print(std::string& out, const message::AssignmentFailed& value) {
  out = "AssignmentFailed";
  Field(out, "at", value.at);
  Field(out, "target", value.target);
  Field(out, "position", value.position);
  Field(out, "output", value.output);
  Field(out, "code", value.code);
  Field(out, "lost", value.lost);
}
void Print(std::string& out, const message::Release& value) {
  out = "Release";
  Field(out, "target", value.target);
}

}  // namespace

std::string DebugString(const Message& message) {
  std::string out;
  std::visit([&out](const auto& value) { Print(out, value); }, message);
  return out;
}

}  // namespace hoplite
