#include "ray_integration/scheduler/argument_room.h"

#include <algorithm>

#include "hoplite/base/check.h"

namespace hoplite::task {
namespace {

// Each object once, with the largest size that was named for it.
std::vector<LeaseArgument> Distinct(std::vector<LeaseArgument> arguments) {
  std::sort(arguments.begin(), arguments.end(),
            [](const LeaseArgument& a, const LeaseArgument& b) {
              return a.object != b.object ? a.object < b.object
                                          : a.bytes > b.bytes;
            });
  const auto end =
      std::unique(arguments.begin(), arguments.end(),
                  [](const LeaseArgument& a, const LeaseArgument& b) {
                    return a.object == b.object;
                  });
  arguments.erase(end, arguments.end());
  return arguments;
}

}  // namespace

bool ArgumentRoom::CouldHold(
    const std::vector<LeaseArgument>& arguments) const {
  std::uint64_t left = room_bytes_;
  for (const LeaseArgument& each : Distinct(arguments)) {
    if (each.bytes > left) return false;
    left -= each.bytes;
  }
  return true;
}

void ArgumentRoom::Add(const RoomKey& key,
                       const std::vector<LeaseArgument>& arguments) {
  Entry entry{.arguments = Distinct(arguments)};
  HOPLITE_CHECK(entries_.emplace(key, std::move(entry)).second);
  waiting_.insert(key);
}

bool ArgumentRoom::Fits(const Entry& entry) const {
  std::uint64_t more = 0;
  for (const LeaseArgument& each : entry.arguments) {
    if (!objects_.contains(each.object)) more += each.bytes;
  }
  return bytes_ + more <= room_bytes_;
}

void ArgumentRoom::Take(Entry& entry) {
  last_fetch_ = last_fetch_.Next();
  entry.fetch = last_fetch_;
  for (const LeaseArgument& each : entry.arguments) {
    Object& object = objects_[each.object];
    if (object.holders++ == 0) {
      object.bytes = each.bytes;
      bytes_ += each.bytes;
    }
  }
}

void ArgumentRoom::Release(Entry& entry) {
  fetches_.erase(entry.fetch);
  entry.fetch = FetchId();
  for (const LeaseArgument& each : entry.arguments) {
    const auto object = objects_.find(each.object);
    HOPLITE_CHECK(object != objects_.end());
    if (--object->second.holders > 0) continue;
    bytes_ -= object->second.bytes;
    objects_.erase(object);
  }
}

void ArgumentRoom::Plan(std::vector<Change>& out) {
  while (!waiting_.empty()) {
    const RoomKey key = *waiting_.begin();
    Entry& entry = entries_.at(key);
    while (!Fits(entry) && !begun_.empty() && *begun_.rbegin() > key) {
      const RoomKey later = *begun_.rbegin();
      Entry& given_up = entries_.at(later);
      out.push_back({later, given_up.fetch, true});
      Release(given_up);
      begun_.erase(later);
      waiting_.insert(later);
    }
    if (!Fits(entry)) return;
    waiting_.erase(key);
    Take(entry);
    begun_.insert(key);
    fetches_.emplace(entry.fetch, key);
    out.push_back({key, entry.fetch, false});
  }
}

FetchId ArgumentRoom::Remove(const RoomKey& key) {
  const auto at = entries_.find(key);
  HOPLITE_CHECK(at != entries_.end());
  const FetchId fetch = at->second.fetch;
  if (fetch) Release(at->second);
  waiting_.erase(key);
  begun_.erase(key);
  entries_.erase(at);
  return fetch;
}

void ArgumentRoom::Keep(const RoomKey& key) {
  Entry& entry = entries_.at(key);
  HOPLITE_CHECK(entry.fetch && !entry.kept);
  entry.kept = true;
  begun_.erase(key);
  fetches_.erase(entry.fetch);
}

const RoomKey* ArgumentRoom::Find(FetchId fetch) const {
  const auto at = fetches_.find(fetch);
  return at == fetches_.end() ? nullptr : &at->second;
}

std::vector<ObjectId> ArgumentRoom::ObjectsOf(const RoomKey& key) const {
  std::vector<ObjectId> objects;
  for (const LeaseArgument& each : entries_.at(key).arguments) {
    objects.push_back(each.object);
  }
  return objects;
}

std::string ArgumentRoom::CheckInvariants() const {
  std::map<ObjectId, std::uint64_t> held;
  for (const auto& [key, entry] : entries_) {
    if (static_cast<bool>(entry.fetch) == waiting_.contains(key)) {
      return "a request waits for room that it has, or has none";
    }
    if (!entry.fetch) continue;
    for (const LeaseArgument& each : entry.arguments) ++held[each.object];
  }
  std::uint64_t bytes = 0;
  for (const auto& [id, holders] : held) {
    const auto object = objects_.find(id);
    if (object == objects_.end() || object->second.holders != holders) {
      return "an argument is held by another number of requests";
    }
    bytes += object->second.bytes;
  }
  if (held.size() != objects_.size()) return "an argument is held by nobody";
  if (bytes != bytes_) return "the room taken is not what the arguments take";
  if (bytes_ > room_bytes_) return "arguments take the room of results";
  return "";
}

}  // namespace hoplite::task
