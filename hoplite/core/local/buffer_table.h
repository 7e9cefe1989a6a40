// The buffers that this node's machines hold, for whom each was made, and who
// waits for room.
//
// One buffer may be held several times: a target of a single source, or a
// leaf's output, is the source's own buffer.
//
// Thread safety: none; one thread at a time.

#ifndef HOPLITE_CORE_LOCAL_BUFFER_TABLE_H_
#define HOPLITE_CORE_LOCAL_BUFFER_TABLE_H_

#include <cstdint>
#include <deque>
#include <optional>
#include <variant>

#include "absl/container/btree_map.h"
#include "hoplite/base/check.h"
#include "hoplite/base/overloaded.h"
#include "hoplite/core/command.h"
#include "hoplite/core/event.h"

namespace hoplite {

// For whom a buffer is made: a Put, a fetched object, a position's output.
struct PutOwner {
  RequestId request;
  ObjectId object;
  friend auto operator<=>(const PutOwner&, const PutOwner&) = default;
};
struct FetchOwner {
  ObjectId object;
  friend auto operator<=>(const FetchOwner&, const FetchOwner&) = default;
};
struct OutputOwner {
  PullKey key;
  Generation generation;
  friend auto operator<=>(const OutputOwner&, const OutputOwner&) = default;
};
using BufferOwner = std::variant<PutOwner, FetchOwner, OutputOwner>;

// The object whose bytes the buffer is to hold.
inline const ObjectId& OwnerObject(const BufferOwner& owner) {
  return std::visit(
      Overloaded{
          [](const PutOwner& put) -> const ObjectId& { return put.object; },
          [](const FetchOwner& fetch) -> const ObjectId& {
            return fetch.object;
          },
          [](const OutputOwner& output) -> const ObjectId& {
            return output.key.object;
          }},
      owner);
}

class BufferTable {
 public:
  struct Entry {
    BufferOwner owner;
    std::uint64_t size = 0;
    std::uint32_t holds = 0;
  };

  // Orders a buffer, held once. Its answer comes as BufferCreated or Refused.
  BufferId Create(BufferOwner owner, std::uint64_t size, Payload payload,
                  Commands& out) {
    const BufferId id = last_ = last_.Next();
    entries_[id] = Entry{.owner = owner, .size = size, .holds = 1};
    out.push_back(command::CreateBuffer{id, size, std::move(payload)});
    return id;
  }
  void Hold(BufferId id) {
    auto it = entries_.find(id);
    HOPLITE_CHECK(it != entries_.end());
    ++it->second.holds;
  }
  // The last hold to go releases the memory. None is harmless.
  void Release(BufferId id, Commands& out, bool failed = false) {
    if (!id) return;
    auto it = entries_.find(id);
    HOPLITE_CHECK(it != entries_.end());
    if (--it->second.holds > 0) return;
    entries_.erase(it);
    out.push_back(command::ReleaseBuffer{id, failed});
  }
  // The store refused it: forgotten, nothing to release.
  std::optional<Entry> TakeRefused(BufferId id) {
    auto it = entries_.find(id);
    if (it == entries_.end()) return std::nullopt;
    const Entry entry = it->second;
    entries_.erase(it);
    return entry;
  }
  const Entry* Find(BufferId id) const {
    auto it = entries_.find(id);
    return it == entries_.end() ? nullptr : &it->second;
  }
  std::size_t size() const { return entries_.size(); }

  // First come, first served; whoever waits holds no room.
  void WaitForRoom(BufferOwner owner) { waiting_.push_back(owner); }
  std::optional<BufferOwner> NextForRoom() {
    if (waiting_.empty()) return std::nullopt;
    const BufferOwner owner = waiting_.front();
    waiting_.pop_front();
    return owner;
  }
  bool anyone_waits() const { return !waiting_.empty(); }
  void StopWaiting(const BufferOwner& owner) { std::erase(waiting_, owner); }

 private:
  BufferId last_;
  absl::btree_map<BufferId, Entry> entries_;
  std::deque<BufferOwner> waiting_;
};

}  // namespace hoplite

#endif  // HOPLITE_CORE_LOCAL_BUFFER_TABLE_H_
