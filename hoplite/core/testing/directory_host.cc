#include "hoplite/core/testing/directory_host.h"

#include <utility>
#include <variant>

namespace hoplite::testing {

DirectoryHost::DirectoryHost(Schedule schedule)
    : directory({.self = Ref(kSelf), .schedule = schedule}, shard_map) {
  for (const ShardAssignment& shard : shard_map.assignments()) {
    directory.Open(shard.at);
  }
  directory.SetLink(
      {.latency = absl::Microseconds(100), .bytes_per_second = 125e6});
  directory.SetNodeCount(16);
}

void DirectoryHost::Settle() {
  Commands before = std::exchange(out, {});
  Commands all;
  while (!before.empty()) {
    for (const Command& command : std::exchange(before, {})) {
      all.push_back(command);
      const auto* send = std::get_if<command::Send>(&command);
      if (send == nullptr || send->to != Ref(kSelf)) continue;
      Hear(send->message, before);
    }
  }
  out = std::move(all);
}

void DirectoryHost::Hear(const Message& message, Commands& next) {
  const NodeRef self = Ref(kSelf);
  if (const auto* watch = std::get_if<message::WatchSources>(&message)) {
    directory.On(now, self, *watch, next);
  } else if (const auto* end = std::get_if<message::UnwatchSources>(&message)) {
    directory.On(now, self, *end, next);
  } else if (const auto* news = std::get_if<message::SourceNews>(&message)) {
    directory.On(now, self, *news, next);
  }
}

}  // namespace hoplite::testing
