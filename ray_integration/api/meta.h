// What a payload's bytes mean: `meta` of Encoded and Stored, taken apart.
//
// There are three kinds of values. A flat one is a run of equal elements: a
// number, a string, a vector, a matrix, or the bytes of a struct. A composite
// one is what PayloadWriter made. And there is nothing, which a task without
// a result returns. Two flat values can be reduced together where their metas
// are equal and say which numbers they are of.
//
//   flat       'f'  type + 1, or 0 and the element's size  rank  each extent
//   composite  'c'  the size of the head
//   nothing    'v'
//
// Sizes and extents are varints: 7 bits a byte, the lowest first.
//
// Thread safety: functions of their arguments.

#ifndef HOPLITE_RAY_INTEGRATION_API_META_H_
#define HOPLITE_RAY_INTEGRATION_API_META_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "hoplite/base/reduction.h"

namespace hoplite::task {

// Of a flat value.
struct Shape {
  // What can be reduced; nullopt for elements that are just bytes.
  std::optional<DataType> numbers;
  std::uint64_t element_bytes = 1;
  // 0 for one element, 1 for a vector or a string, 2 for a matrix.
  std::uint8_t rank = 0;
  // Of which the first `rank` count; the others are 1.
  std::array<std::uint64_t, 2> extents = {1, 1};

  friend bool operator==(const Shape&, const Shape&) = default;
};

// REQUIRES: a shape as described.
std::string MetaOf(const Shape& shape);
std::string MetaOfComposite(std::uint64_t head_bytes);
std::string MetaOfNothing();

// nullopt where the meta is another kind's or cannot be read.
std::optional<Shape> ReadShape(absl::string_view meta);
std::optional<std::uint64_t> ReadComposite(absl::string_view meta);
bool IsNothing(absl::string_view meta);

// The payload's size; nullopt where it does not fit into 63 bits.
std::optional<std::uint64_t> SizeOf(const Shape& shape);

// "f32" or "24-byte elements", and "a 3 x 4 matrix of f32", for messages to
// people.
std::string DescribeElements(const Shape& shape);
std::string DescribeMeta(absl::string_view meta);

void AppendVarint(std::string& to, std::uint64_t number);
// Takes it from the front of `from`; nullopt where none is there.
std::optional<std::uint64_t> TakeVarint(absl::string_view& from);

}  // namespace hoplite::task

#endif  // HOPLITE_RAY_INTEGRATION_API_META_H_
