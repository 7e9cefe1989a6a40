#include "hoplite/cli/chaos_content.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "hoplite/base/check.h"
#include "hoplite/base/digest.h"

namespace hoplite::cli {
namespace {

// 64 sources of 255 * 64 + 1023 stay below 2^24.
constexpr std::uint32_t kFactors = 64;
constexpr std::uint32_t kOffsets = 1024;
constexpr int kPatternShift = 24;  // values of 8 bits

std::uint64_t Mix(std::uint64_t value) {
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9u;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebu;
  return value ^ (value >> 31);
}

// 0 and 1 at first, from which a reader finds the weight; then as if random.
std::uint32_t Pattern(std::uint32_t salt, std::uint32_t index) {
  if (index < 2) return index;
  std::uint32_t mixed = (index + salt) * 2654435761u;
  mixed = (mixed ^ (mixed >> 15)) * 0x85ebca6bu;
  return mixed >> kPatternShift;
}

std::uint32_t Salt(const ChaosContent& content) {
  return static_cast<std::uint32_t>(
      Mix(content.seed * 0x9e3779b97f4a7c15u + content.operation));
}

float ValueAt(std::span<const std::byte> bytes, std::uint64_t index) {
  float value = 0;
  std::memcpy(&value, bytes.data() + index * sizeof(value), sizeof(value));
  return value;
}

// What no weight can have is read as 0, and then does not agree.
std::uint32_t WholeNumber(float value) {
  return value >= 0 && value < (1 << 24) ? static_cast<std::uint32_t>(value)
                                         : 0;
}

bool IsSum(const ChaosContent& content, std::uint32_t objects,
           std::uint32_t count, const ChaosWeight& weight) {
  if (count == 0) return weight == ChaosWeight();
  if (objects < count) return false;
  const ChaosWeight last = content.Weight(objects - 1);
  if (weight.factor >= last.factor && weight.offset >= last.offset &&
      IsSum(content, objects - 1, count - 1,
            {weight.factor - last.factor, weight.offset - last.offset})) {
    return true;
  }
  return IsSum(content, objects - 1, count, weight);
}

}  // namespace

ObjectId ChaosContent::Id(std::uint32_t object) const {
  return IdFromName(absl::StrCat("chaos/", seed, "/", operation, "/", object));
}

ChaosWeight ChaosContent::Weight(std::uint32_t object) const {
  const std::uint64_t mixed =
      Mix(Mix(seed * 0x9e3779b97f4a7c15u + operation) + object);
  return {.factor = static_cast<std::uint32_t>(mixed % kFactors) + 1,
          .offset = static_cast<std::uint32_t>((mixed >> 32) % kOffsets)};
}

void ChaosContent::Fill(std::uint32_t object,
                        std::span<std::byte> bytes) const {
  HOPLITE_CHECK(bytes.size() % sizeof(float) == 0 && bytes.size() >= 8);
  const std::uint32_t salt = Salt(*this);
  const ChaosWeight weight = Weight(object);
  const std::uint64_t count = bytes.size() / sizeof(float);
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto value = static_cast<float>(
        Pattern(salt, static_cast<std::uint32_t>(i)) * weight.factor +
        weight.offset);
    std::memcpy(bytes.data() + i * sizeof(value), &value, sizeof(value));
  }
}

ChaosReading ChaosContent::Read(std::uint64_t size,
                                std::span<const std::byte> bytes) const {
  if (bytes.size() != size) {
    return {.weight = {},
            .wrong_bytes = std::max<std::uint64_t>(size, bytes.size())};
  }
  const std::uint32_t salt = Salt(*this);
  const std::uint32_t offset = WholeNumber(ValueAt(bytes, 0));
  const std::uint32_t second = WholeNumber(ValueAt(bytes, 1));
  const ChaosWeight weight = {.factor = second - std::min(second, offset),
                              .offset = offset};
  ChaosReading reading{.weight = weight, .wrong_bytes = 0};
  const std::uint64_t count = bytes.size() / sizeof(float);
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto value = static_cast<float>(
        Pattern(salt, static_cast<std::uint32_t>(i)) * weight.factor +
        weight.offset);
    const std::byte* const found = bytes.data() + i * sizeof(value);
    if (std::memcmp(&value, found, sizeof(value)) == 0) continue;
    const auto expected = std::as_bytes(std::span(&value, 1));
    for (std::size_t k = 0; k < sizeof(value); ++k) {
      reading.wrong_bytes += expected[k] != found[k] ? 1 : 0;
    }
  }
  return reading;
}

bool IsSumOf(const ChaosContent& content, std::uint32_t objects,
             std::uint32_t count, const ChaosWeight& weight) {
  // Fewer are left out than go in: the search is over those.
  ChaosWeight all;
  for (std::uint32_t i = 0; i < objects; ++i) all = all + content.Weight(i);
  if (count > objects || weight.factor > all.factor ||
      weight.offset > all.offset) {
    return false;
  }
  return IsSum(content, objects, objects - count,
               {all.factor - weight.factor, all.offset - weight.offset});
}

}  // namespace hoplite::cli
