#include "ray_integration/wire/pack.h"

namespace hoplite::task {

void Pack(const std::string& text, std::string& out) {
  Pack(static_cast<std::uint32_t>(text.size()), out);
  out.append(text);
}

void Pack(const ObjectId& id, std::string& out) {
  const absl::string_view bytes = id.binary();
  out.append(bytes.data(), bytes.size());
}

void Pack(const NodeRef& node, std::string& out) {
  Pack(node.node.value(), out);
  Pack(node.incarnation.value(), out);
}

void Pack(const WorkerNumber& worker, std::string& out) {
  Pack(worker.value(), out);
}

void Pack(const ProcessId& process, std::string& out) {
  Pack(process.node, out);
  Pack(process.worker, out);
}

absl::string_view Unpacker::TakeBytes(std::size_t size) {
  if (!ok_ || size > bytes_.size()) {
    ok_ = false;
    return {};
  }
  const absl::string_view taken = bytes_.substr(0, size);
  bytes_.remove_prefix(size);
  return taken;
}

void Unpacker::Take(std::string& text) {
  std::uint32_t size = 0;
  Take(size);
  const absl::string_view taken = TakeBytes(size);
  text.assign(taken.data(), taken.size());
}

void Unpacker::Take(ObjectId& id) {
  const absl::string_view taken = TakeBytes(ObjectId::kSize);
  if (ok_) id = *ObjectId::FromBinary(taken);
}

void Unpacker::Take(NodeRef& node) {
  std::uint32_t number = 0;
  std::uint64_t incarnation = 0;
  Take(number);
  Take(incarnation);
  node = {NodeId(number), Incarnation(incarnation)};
}

void Unpacker::Take(WorkerNumber& worker) {
  std::uint32_t number = 0;
  Take(number);
  worker = WorkerNumber(number);
}

void Unpacker::Take(ProcessId& process) {
  Take(process.node);
  Take(process.worker);
}

}  // namespace hoplite::task
