#include "hoplite/core/plausible_message.h"

#include <algorithm>
#include <cstdint>
#include <variant>

#include "hoplite/core/event.h"

namespace hoplite {
namespace {

bool HasSize(const Payload& payload, std::uint64_t size) {
  return payload == nullptr || payload->size() == size;
}

// Whatever names an object and its shard.
template <typename T>
bool IsOfItsShard(const T& about) {
  if constexpr (requires { about.object; }) {
    return about.object.shard() == about.at.shard;
  } else if constexpr (requires { about.target; }) {
    return about.target.shard() == about.at.shard;
  } else {
    return true;
  }
}

template <typename T>
bool MakesSense(const T&) {
  return true;
}
bool MakesSense(const message::Grant& grant) {
  return grant.server && grant.generation;
}
bool MakesSense(const message::GrantInline& grant) {
  return grant.payload != nullptr && grant.generation;
}
bool MakesSense(const message::Refusal& refusal) {
  return refusal.code != absl::StatusCode::kOk;
}
bool MakesSense(const message::Drop& drop) {
  return drop.code != absl::StatusCode::kOk && drop.generation;
}
bool MakesSense(const message::CopyComplete& copy) {
  return bool{copy.generation};
}
bool MakesSense(const message::PutBegun& put) {
  return put.generation && HasSize(put.payload, put.size);
}
bool MakesSense(const message::EvictAsk& ask) {
  return std::ranges::all_of(ask.entries, [](const auto& entry) {
    return IsOfItsShard(entry) && entry.generation;
  });
}
bool MakesSense(const message::WatchSources& watch) {
  return std::ranges::all_of(
      watch.entries, [](const auto& entry) { return IsOfItsShard(entry); });
}
bool MakesSense(const message::SourceNews& news) {
  return std::ranges::all_of(news.entries, [](const auto& entry) {
    return HasSize(entry.payload, entry.size);
  });
}
bool MakesSense(const message::Assignment& assignment) {
  const bool folds = Supports(assignment.op, assignment.type) &&
                     assignment.divisor > 0 &&
                     assignment.size % SizeOf(assignment.type) == 0;
  return folds && assignment.output && assignment.source_generation &&
         assignment.position != PullKey::kWholeObject &&
         std::ranges::all_of(assignment.inputs, [&](const auto& input) {
           return input.member && input.generation &&
                  input.position != assignment.position;
         });
}

}  // namespace

bool IsPlausible(const Message& message) {
  return std::visit(
      [](const auto& body) {
        if constexpr (requires { body.at.shard; }) {
          if (!IsOfItsShard(body)) return false;
        }
        return MakesSense(body);
      },
      message);
}

}  // namespace hoplite
