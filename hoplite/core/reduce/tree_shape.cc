#include "hoplite/core/reduce/tree_shape.h"

#include <utility>

#include "hoplite/base/check.h"

namespace hoplite {
namespace {

// In-order numbers of a complete d-ary tree stored by levels: the children of
// i are i d + 1 … i d + d. An explicit stack, as a chain is count deep.
std::vector<std::uint32_t> InOrderNumbers(std::uint32_t count,
                                          std::uint32_t degree) {
  std::vector<std::uint32_t> numbers(count);
  std::uint32_t next = 0;
  // An entry: a node by level order, and whether its first child is done.
  std::vector<std::pair<std::uint64_t, bool>> stack = {{0, false}};
  while (!stack.empty()) {
    const auto [node, first_done] = stack.back();
    stack.pop_back();
    if (node >= count) continue;
    const std::uint64_t first = node * degree + 1;
    if (!first_done) {
      stack.emplace_back(node, true);
      stack.emplace_back(first, false);
      continue;
    }
    numbers[node] = next++;
    for (std::uint64_t child = first + degree - 1; child > first; --child) {
      stack.emplace_back(child, false);
    }
  }
  HOPLITE_CHECK(next == count);
  return numbers;
}

}  // namespace

TreeShape::TreeShape(std::uint32_t count, std::uint32_t degree)
    : degree_(degree), parents_(count), children_(count) {
  HOPLITE_CHECK(count > 0);
  HOPLITE_CHECK(degree > 0);
  const std::vector<std::uint32_t> numbers = InOrderNumbers(count, degree);
  root_ = numbers[0];
  for (std::uint32_t node = 1; node < count; ++node) {
    const std::uint32_t parent = numbers[(node - 1) / degree];
    parents_[numbers[node]] = parent;
    children_[parent].push_back(numbers[node]);
  }
}

std::vector<std::uint32_t> TreeShape::Ancestors(std::uint32_t position) const {
  std::vector<std::uint32_t> ancestors;
  for (std::optional<std::uint32_t> parent = Parent(position);
       parent.has_value(); parent = Parent(*parent)) {
    ancestors.push_back(*parent);
  }
  return ancestors;
}

}  // namespace hoplite
