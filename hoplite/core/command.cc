#include "hoplite/core/command.h"

#include <string>

#include "hoplite/core/debug_print.h"

namespace hoplite {
namespace {

using debug_print::Field;

void Print(std::string& out, const command::Send& value) {
  out = "Send";
  Field(out, "to", value.to);
  Field(out, "message", value.message);
}
void Print(std::string& out, const command::Admit& value) {
  out = "Admit";
  Field(out, "token", value.token);
  Field(out, "member", value.member);
  Field(out, "members", value.members);
  Field(out, "shard_map", value.shard_map);
}
void Print(std::string& out, const command::LearnMember& value) {
  out = "LearnMember";
  Field(out, "member", value.member);
}
void Print(std::string& out, const command::ForgetMember& value) {
  out = "ForgetMember";
  Field(out, "member", value.member);
}
void Print(std::string& out, const command::CreateBuffer& value) {
  out = "CreateBuffer";
  Field(out, "buffer", value.buffer);
  Field(out, "size", value.size);
  Field(out, "payload", value.payload);
}
void Print(std::string& out, const command::ReleaseBuffer& value) {
  out = "ReleaseBuffer";
  Field(out, "buffer", value.buffer);
  Field(out, "failed", value.failed);
}
void Print(std::string& out, const command::StartTransfer& value) {
  out = "StartTransfer";
  Field(out, "transfer", value.transfer);
  Field(out, "buffer", value.buffer);
  Field(out, "key", value.key);
  Field(out, "generation", value.generation);
  Field(out, "begin", value.begin);
  Field(out, "size", value.size);
  Field(out, "frame_bytes", value.frame_bytes);
  Field(out, "server", value.server);
}
void Print(std::string& out, const command::CancelTransfer& value) {
  out = "CancelTransfer";
  Field(out, "transfer", value.transfer);
}
void Print(std::string& out, const command::ServePull& value) {
  out = "ServePull";
  Field(out, "pull", value.pull);
  Field(out, "buffer", value.buffer);
}
void Print(std::string& out, const command::RefusePull& value) {
  out = "RefusePull";
  Field(out, "pull", value.pull);
}
void Print(std::string& out, const command::StartFold& value) {
  out = "StartFold";
  Field(out, "fold", value.fold);
  Field(out, "target", value.target);
  Field(out, "output", value.output);
  Field(out, "own", value.own);
  Field(out, "inputs", value.inputs);
  Field(out, "op", value.op);
  Field(out, "type", value.type);
  Field(out, "divisor", value.divisor);
  Field(out, "size", value.size);
  Field(out, "frame_bytes", value.frame_bytes);
}
void Print(std::string& out, const command::CancelFold& value) {
  out = "CancelFold";
  Field(out, "fold", value.fold);
}
void Print(std::string& out, const command::FoldPayloads& value) {
  out = "FoldPayloads";
  Field(out, "target", value.target);
  Field(out, "generation", value.generation);
  Field(out, "payloads", value.payloads);
  Field(out, "op", value.op);
  Field(out, "type", value.type);
  Field(out, "divisor", value.divisor);
}
void Print(std::string& out, const command::HandBuffer& value) {
  out = "HandBuffer";
  Field(out, "request", value.request);
  Field(out, "buffer", value.buffer);
}
void Print(std::string& out, const command::AnswerRequest& value) {
  out = "AnswerRequest";
  Field(out, "request", value.request);
  Field(out, "code", value.code);
  Field(out, "detail", value.detail);
  Field(out, "remote", value.remote);
  Field(out, "bytes_done", value.bytes_done);
  Field(out, "bytes_total", value.bytes_total);
  Field(out, "buffer", value.buffer);
  Field(out, "sources", value.sources);
}

}  // namespace

std::string DebugString(const Command& command) {
  std::string out;
  std::visit([&out](const auto& value) { Print(out, value); }, command);
  return out;
}

}  // namespace hoplite
