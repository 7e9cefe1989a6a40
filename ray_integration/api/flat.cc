#include "ray_integration/api/flat.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "ray_integration/api/meta.h"

namespace hoplite::task {
namespace {

bool Fits(std::int64_t expected, std::uint64_t extent) {
  return expected == kAnyExtent ||
         static_cast<std::uint64_t>(expected) == extent;
}

bool IsOf(const FlatType& type, const Shape& shape) {
  return shape.numbers == type.numbers &&
         shape.element_bytes == type.element_bytes && shape.rank == type.rank &&
         type.Allows(shape.extents[0], shape.extents[1]);
}

std::string Describe(const FlatType& type) {
  constexpr const char* kForms[] = {"one of ", "a vector of ", "a matrix of "};
  return absl::StrCat(
      kForms[type.rank],
      DescribeElements(
          Shape{.numbers = type.numbers, .element_bytes = type.element_bytes}));
}

}  // namespace

bool FlatType::Allows(std::uint64_t value_rows,
                      std::uint64_t value_columns) const {
  return Fits(rows, value_rows) && Fits(columns, value_columns);
}

Encoded EncodeFlat(const Shape& shape, const void* data) {
  Encoded encoded;
  encoded.meta = MetaOf(shape);
  const std::size_t size_bytes = SizeOf(shape).value_or(0);
  if (size_bytes > 0) {
    encoded.pieces.emplace_back(static_cast<const std::byte*>(data),
                                size_bytes);
  }
  return encoded;
}

absl::StatusOr<Shape> CheckFlat(const Stored& stored, const FlatType& type) {
  const auto shape = ReadShape(stored.meta);
  if (!shape || !IsOf(type, *shape)) {
    return absl::InvalidArgumentError(
        absl::StrCat("a value is ", DescribeMeta(stored.meta), "; expected is ",
                     Describe(type)));
  }
  if (SizeOf(*shape) != stored.bytes.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("a value cannot be read: it says that it is ",
                     DescribeMeta(stored.meta), ", and has ",
                     stored.bytes.size(), " bytes"));
  }
  return *shape;
}

absl::Status DoesNotFit(const Shape& shape) {
  return absl::InvalidArgumentError(
      absl::StrCat("a value is ", DescribeMeta(MetaOf(shape)),
                   ", for which its type has no room"));
}

void Align(Stored& stored, std::size_t alignment) {
  const auto address = reinterpret_cast<std::uintptr_t>(stored.bytes.data());
  if (address % alignment == 0) return;
  const std::size_t size_bytes = stored.bytes.size();
  auto room =
      std::make_shared<std::vector<std::byte>>(size_bytes + alignment - 1);
  void* start = room->data();
  std::size_t room_bytes = room->size();
  std::align(alignment, size_bytes, start, room_bytes);
  std::memcpy(start, stored.bytes.data(), size_bytes);
  stored.bytes = {static_cast<const std::byte*>(start), size_bytes};
  stored.pin = std::move(room);
}

}  // namespace hoplite::task
