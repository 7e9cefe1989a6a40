#include "ray_integration/worker/begun_memory.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <type_traits>

namespace hoplite::task {
namespace {

using Words = std::array<std::uint64_t, BegunMemory::kWords>;

static_assert(std::is_trivially_copyable_v<BegunMemory::Content>);
static_assert(sizeof(BegunMemory::Content) == sizeof(Words));

// A writer that is never done with a version has died in it: what is there
// counts, and names no task that has begun.
constexpr int kReads = 1000;

void Copy(absl::string_view text, BegunMemory::Name& name) {
  const std::size_t size = std::min(text.size(), name.size());
  std::memcpy(name.data(), text.data(), size);
  if (size < name.size()) name[size] = '\0';
}

std::string TextOf(const BegunMemory::Name& name) {
  return std::string(name.begin(), std::find(name.begin(), name.end(), '\0'));
}

Begun ToBegun(const Words& words) {
  const auto content = std::bit_cast<BegunMemory::Content>(words);
  return {.result = ObjectId(content.result),
          .since = absl::FromUnixNanos(content.since_nanos),
          .function = TextOf(content.function),
          .actor = TextOf(content.actor)};
}

}  // namespace

void BegunMemory::Set(const ObjectId& result, absl::string_view function,
                      absl::Time since) {
  if (area_ == nullptr) return;
  content_.result = result.bytes();
  content_.since_nanos = absl::ToUnixNanos(since);
  Copy(function, content_.function);
  Write();
}

void BegunMemory::Clear() {
  if (area_ == nullptr) return;
  content_.result = ObjectId().bytes();
  Write();
}

void BegunMemory::SetActor(absl::string_view function) {
  if (area_ == nullptr) return;
  Copy(function, content_.actor);
  Write();
}

void BegunMemory::Write() {
  const auto words = std::bit_cast<Words>(content_);
  const std::uint64_t version = area_->version.load(std::memory_order_relaxed);
  // Whoever sees a word of this version also sees that it is written.
  area_->version.store(version + 1, std::memory_order_relaxed);
  for (std::size_t i = 0; i < kWords; ++i) {
    area_->words[i].store(words[i], std::memory_order_release);
  }
  area_->version.store(version + 2, std::memory_order_release);
}

Begun BegunMemory::Read() const {
  Words words{};
  if (area_ == nullptr) return ToBegun(words);
  for (int i = 0; i < kReads; ++i) {
    const std::uint64_t version =
        area_->version.load(std::memory_order_acquire);
    for (std::size_t k = 0; k < kWords; ++k) {
      words[k] = area_->words[k].load(std::memory_order_acquire);
    }
    if (version % 2 == 0 &&
        area_->version.load(std::memory_order_relaxed) == version) {
      break;
    }
  }
  return ToBegun(words);
}

}  // namespace hoplite::task
