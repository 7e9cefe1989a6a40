#include "ray_integration/api/meta.h"

#include <cstdint>
#include <limits>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "hoplite/base/reduction.h"

namespace hoplite::task {
namespace {

constexpr char kFlat = 'f';
constexpr char kComposite = 'c';
constexpr char kNothing = 'v';
constexpr int kVarintBits = 7;
constexpr std::uint64_t kVarintMask = 0x7f;

// Takes the type of the elements, or their size.
bool TakeElement(absl::string_view& meta, Shape& shape) {
  if (meta.empty()) return false;
  const auto type = static_cast<std::uint8_t>(meta.front());
  meta.remove_prefix(1);
  if (type > kDataTypeCount) return false;
  if (type > 0) {
    shape.numbers = static_cast<DataType>(type - 1);
    shape.element_bytes = SizeOf(*shape.numbers);
    return true;
  }
  const auto element_bytes = TakeVarint(meta);
  shape.element_bytes = element_bytes.value_or(0);
  return shape.element_bytes > 0;
}

std::string Describe(const Shape& shape) {
  const std::string element = DescribeElements(shape);
  if (shape.rank == 0) return absl::StrCat("one of ", element);
  if (shape.rank == 1) {
    return absl::StrCat(shape.extents[0], " of ", element);
  }
  return absl::StrCat("a ", shape.extents[0], " x ", shape.extents[1],
                      " matrix of ", element);
}

}  // namespace

void AppendVarint(std::string& to, std::uint64_t number) {
  while (number > kVarintMask) {
    to.push_back(static_cast<char>((number & kVarintMask) | 0x80));
    number >>= kVarintBits;
  }
  to.push_back(static_cast<char>(number));
}

std::optional<std::uint64_t> TakeVarint(absl::string_view& from) {
  std::uint64_t number = 0;
  for (int shift = 0; shift < 64 && !from.empty(); shift += kVarintBits) {
    const auto byte = static_cast<std::uint8_t>(from.front());
    from.remove_prefix(1);
    number |= (byte & kVarintMask) << shift;
    if (byte <= kVarintMask) return number;
  }
  return std::nullopt;
}

std::string MetaOf(const Shape& shape) {
  std::string meta(1, kFlat);
  if (shape.numbers) {
    meta.push_back(
        static_cast<char>(static_cast<std::uint8_t>(*shape.numbers) + 1));
  } else {
    meta.push_back(0);
    AppendVarint(meta, shape.element_bytes);
  }
  meta.push_back(static_cast<char>(shape.rank));
  for (int i = 0; i < shape.rank; ++i) AppendVarint(meta, shape.extents[i]);
  return meta;
}

std::string MetaOfComposite(std::uint64_t head_bytes) {
  std::string meta(1, kComposite);
  AppendVarint(meta, head_bytes);
  return meta;
}

std::string MetaOfNothing() { return std::string(1, kNothing); }

std::optional<Shape> ReadShape(absl::string_view meta) {
  Shape shape;
  if (meta.empty() || meta.front() != kFlat) return std::nullopt;
  meta.remove_prefix(1);
  if (!TakeElement(meta, shape) || meta.empty()) return std::nullopt;
  shape.rank = static_cast<std::uint8_t>(meta.front());
  meta.remove_prefix(1);
  if (shape.rank > shape.extents.size()) return std::nullopt;
  for (int i = 0; i < shape.rank; ++i) {
    const auto extent = TakeVarint(meta);
    if (!extent) return std::nullopt;
    shape.extents[i] = *extent;
  }
  if (!meta.empty() || !SizeOf(shape)) return std::nullopt;
  return shape;
}

std::optional<std::uint64_t> ReadComposite(absl::string_view meta) {
  if (meta.empty() || meta.front() != kComposite) return std::nullopt;
  meta.remove_prefix(1);
  const auto head_bytes = TakeVarint(meta);
  return meta.empty() ? head_bytes : std::nullopt;
}

bool IsNothing(absl::string_view meta) {
  return meta.size() == 1 && meta.front() == kNothing;
}

std::optional<std::uint64_t> SizeOf(const Shape& shape) {
  constexpr std::uint64_t kMax = std::numeric_limits<std::int64_t>::max();
  std::uint64_t size_bytes = 0;
  if (shape.extents[0] > kMax || shape.extents[1] > kMax ||
      __builtin_mul_overflow(shape.extents[0], shape.extents[1], &size_bytes) ||
      __builtin_mul_overflow(size_bytes, shape.element_bytes, &size_bytes) ||
      size_bytes > kMax) {
    return std::nullopt;
  }
  return size_bytes;
}

std::string DescribeElements(const Shape& shape) {
  if (shape.numbers) return std::string(ToString(*shape.numbers));
  return absl::StrCat(shape.element_bytes, "-byte elements");
}

std::string DescribeMeta(absl::string_view meta) {
  if (IsNothing(meta)) return "nothing";
  if (ReadComposite(meta)) return "a composite value";
  if (auto shape = ReadShape(meta)) return Describe(*shape);
  return "a value that cannot be read";
}

}  // namespace hoplite::task
