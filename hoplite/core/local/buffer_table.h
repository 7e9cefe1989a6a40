// The buffers that this node's machines hold, for whom each was made, and who
// waits for room.
//
// One buffer may be held several times: a target of a single source, or a
// leaf's output, is the source's own buffer. One that is let go of before the
// store has answered stays until it does, as only then it is known whether
// there is anything to release.
//
// Thread safety: none; one thread at a time.

#ifndef HOPLITE_CORE_LOCAL_BUFFER_TABLE_H_
#define HOPLITE_CORE_LOCAL_BUFFER_TABLE_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

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
    bool created = false;
    bool failed = false;  // one of those who let go said so
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
    HOPLITE_CHECK(it != entries_.end() && it->second.holds > 0);
    it->second.failed |= failed;
    if (--it->second.holds > 0 || !it->second.created) return;
    out.push_back(command::ReleaseBuffer{id, it->second.failed});
    entries_.erase(it);
  }
  // The store has made it. Null, and released, where nobody holds it any more.
  const Entry* OnCreated(BufferId id, Commands& out) {
    auto it = entries_.find(id);
    if (it == entries_.end() || it->second.created) return nullptr;
    it->second.created = true;
    if (it->second.holds > 0) return &it->second;
    out.push_back(command::ReleaseBuffer{id, it->second.failed});
    entries_.erase(it);
    return nullptr;
  }
  // The store refused it: forgotten, nothing to release. The entry, where
  // somebody still holds it.
  std::optional<Entry> TakeRefused(BufferId id) {
    auto it = entries_.find(id);
    if (it == entries_.end() || it->second.created) return std::nullopt;
    const Entry entry = it->second;
    entries_.erase(it);
    if (entry.holds == 0) return std::nullopt;
    return entry;
  }
  const Entry* Find(BufferId id) const {
    auto it = entries_.find(id);
    return it == entries_.end() ? nullptr : &it->second;
  }
  std::size_t size() const { return entries_.size(); }

  // Whoever waits holds no room. Who waits already keeps its place.
  void WaitForRoom(BufferOwner owner) {
    if (std::find(waiting_.begin(), waiting_.end(), owner) == waiting_.end()) {
      waiting_.push_back(owner);
    }
  }
  // Everybody who waits, in the order in which they came; none waits any more.
  // Whoever is refused again waits again, so that order stays.
  std::vector<BufferOwner> TakeWaiting() { return std::exchange(waiting_, {}); }
  // One after another of those who wait, who goes on waiting meanwhile.
  // REQUIRES: anyone_waits().
  BufferOwner NextToRetry() { return waiting_[retries_++ % waiting_.size()]; }
  bool anyone_waits() const { return !waiting_.empty(); }
  void StopWaiting(const BufferOwner& owner) { std::erase(waiting_, owner); }

 private:
  BufferId last_;
  absl::btree_map<BufferId, Entry> entries_;
  std::vector<BufferOwner> waiting_;
  std::size_t retries_ = 0;
};

}  // namespace hoplite

#endif  // HOPLITE_CORE_LOCAL_BUFFER_TABLE_H_
