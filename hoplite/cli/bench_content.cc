#include "hoplite/cli/bench_content.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "hoplite/base/digest.h"

namespace hoplite::cli {
namespace {

constexpr std::uint64_t kChunkBytes = 64 << 10;

std::uint32_t Salt(const RunContent& content, std::uint32_t object) {
  std::uint64_t salt = content.seed * 0x9e3779b97f4a7c15u;
  salt ^= (content.row + 1) * 0xbf58476d1ce4e5b9u;
  salt ^= (content.run + 1) * 0x94d049bb133111ebu;
  salt ^= (object + 1) * 0xd6e8feb86659fd93u;
  return static_cast<std::uint32_t>(salt >> 32);
}

// A whole number of [0, 64): sums of 2^18 of them are exact in f32.
float Value(std::uint32_t salt, std::uint32_t index) {
  std::uint32_t mixed = (index + salt) * 2654435761u;
  mixed = (mixed ^ (mixed >> 15)) * 0x85ebca6bu;
  return static_cast<float>(mixed >> 26);
}

std::uint64_t CountDifferent(std::span<const std::byte> a,
                             std::span<const std::byte> b) {
  if (std::memcmp(a.data(), b.data(), a.size()) == 0) return 0;
  std::uint64_t wrong = 0;
  for (std::size_t i = 0; i < a.size(); ++i) wrong += a[i] != b[i];
  return wrong;
}

// Compares chunk by chunk with what `make(offset, chunk)` writes.
template <typename Make>
std::uint64_t Compare(std::uint64_t size, std::span<const std::byte> bytes,
                      Make make) {
  if (bytes.size() != size) return std::max<std::uint64_t>(size, bytes.size());
  std::vector<std::byte> expected(std::min(size, kChunkBytes));
  std::uint64_t wrong = 0;
  for (std::uint64_t offset = 0; offset < size; offset += kChunkBytes) {
    const std::uint64_t length = std::min(kChunkBytes, size - offset);
    const std::span<std::byte> chunk(expected.data(), length);
    make(offset, chunk);
    wrong += CountDifferent(chunk, bytes.subspan(offset, length));
  }
  return wrong;
}

}  // namespace

ObjectId RunContent::Id(std::uint32_t object) const {
  return IdFromName(absl::StrCat("bench/", nonce, "/", seed, "/", row, "/", run,
                                 "/", object));
}

void RunContent::Fill(std::uint32_t object, std::uint64_t offset,
                      std::span<std::byte> bytes) const {
  const std::uint32_t salt = Salt(*this, object);
  auto index = static_cast<std::uint32_t>(offset / sizeof(float));
  const std::size_t whole = bytes.size() / sizeof(float) * sizeof(float);
  for (std::size_t i = 0; i < whole; i += sizeof(float), ++index) {
    const float value = Value(salt, index);
    std::memcpy(bytes.data() + i, &value, sizeof(value));
  }
  const float last = Value(salt, index);
  std::ranges::copy(
      std::as_bytes(std::span(&last, 1)).first(bytes.size() - whole),
      bytes.begin() + static_cast<std::ptrdiff_t>(whole));
}

std::uint64_t RunContent::WrongBytes(std::uint32_t object, std::uint64_t size,
                                     std::span<const std::byte> bytes) const {
  return Compare(size, bytes,
                 [&](std::uint64_t offset, std::span<std::byte> chunk) {
                   Fill(object, offset, chunk);
                 });
}

std::uint64_t RunContent::WrongSumBytes(
    std::span<const std::uint32_t> summands, std::uint64_t size,
    std::span<const std::byte> bytes) const {
  std::vector<std::uint32_t> salts;
  salts.reserve(summands.size());
  for (const std::uint32_t i : summands) salts.push_back(Salt(*this, i));
  return Compare(
      size, bytes, [&](std::uint64_t offset, std::span<std::byte> chunk) {
        const std::size_t count = chunk.size() / sizeof(float);
        std::vector<float> sums(count, 0.0f);
        const auto first = static_cast<std::uint32_t>(offset / sizeof(float));
        for (std::uint32_t salt : salts) {
          for (std::size_t i = 0; i < count; ++i) {
            sums[i] += Value(salt, first + static_cast<std::uint32_t>(i));
          }
        }
        std::ranges::copy(std::as_bytes(std::span(sums)), chunk.begin());
      });
}

}  // namespace hoplite::cli
