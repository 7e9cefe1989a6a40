#include "ray_integration/base/process_id.h"

#include <cstddef>

#include "absl/strings/str_format.h"
#include "hoplite/base/check.h"

namespace hoplite::task {
namespace {

constexpr std::size_t kNodeAt = 0;
constexpr std::size_t kIncarnationAt = 4;
constexpr std::size_t kWorkerAt = 12;
constexpr std::size_t kCounterAt = 16;
constexpr std::size_t kEnd = 24;

void Write(ObjectId::Bytes& bytes, std::size_t from, std::size_t to,
           std::uint64_t value) {
  for (std::size_t at = to; at > from; value >>= 8) {
    bytes[--at] = static_cast<std::uint8_t>(value);
  }
}

std::uint64_t Read(const ObjectId& object, std::size_t from, std::size_t to) {
  std::uint64_t value = 0;
  for (std::size_t at = from; at < to; ++at) {
    value = value << 8 | object.bytes()[at];
  }
  return value;
}

bool IsOwned(const ObjectId& object) {
  return Read(object, kEnd, ObjectId::kSize) == 0 &&
         Read(object, kWorkerAt, kCounterAt) != 0 &&
         Read(object, kCounterAt, kEnd) != 0;
}

}  // namespace

ObjectId MakeObjectId(const ProcessId& owner, std::uint64_t counter) {
  HOPLITE_CHECK(owner && counter > 0);
  ObjectId::Bytes bytes{};
  Write(bytes, kNodeAt, kIncarnationAt, owner.node.node.value());
  Write(bytes, kIncarnationAt, kWorkerAt, owner.node.incarnation.value());
  Write(bytes, kWorkerAt, kCounterAt, owner.worker.value());
  Write(bytes, kCounterAt, kEnd, counter);
  return ObjectId(bytes);
}

ProcessId OwnerOf(const ObjectId& object) {
  if (!IsOwned(object)) return {};
  const std::uint64_t node = Read(object, kNodeAt, kIncarnationAt);
  const std::uint64_t worker = Read(object, kWorkerAt, kCounterAt);
  return {.node = {NodeId(static_cast<std::uint32_t>(node)),
                   Incarnation(Read(object, kIncarnationAt, kWorkerAt))},
          .worker = WorkerNumber(static_cast<std::uint32_t>(worker))};
}

std::uint64_t CounterOf(const ObjectId& object) {
  return IsOwned(object) ? Read(object, kCounterAt, kEnd) : 0;
}

std::string ToString(const ProcessId& id) {
  return absl::StrFormat("worker %d of %s", id.worker.value(),
                         ToString(id.node.node));
}

}  // namespace hoplite::task
