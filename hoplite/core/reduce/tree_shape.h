// The shape of a reduction's tree: positions 0 … count - 1 of a complete d-ary
// tree, numbered in generalised in-order.
//
// In-order means: first child, the node, the other children. Positions are
// filled in the order in which sources arrive, so a node's first child always
// arrives before it and a partial sum can start with two objects; in a chain
// (d = 1) position i's only child is i - 1 and the root is the last to arrive.
//
//     d = 2, count = 6:      3
//                          1   5
//                         0 2 4
//
// From "Hoplite" (SIGCOMM 2021), section on reduce trees.
//
// Thread safety: immutable once made.
// Complexity: O(count) to make, O(1) to ask.

#ifndef HOPLITE_CORE_REDUCE_TREE_SHAPE_H_
#define HOPLITE_CORE_REDUCE_TREE_SHAPE_H_

#include <cstdint>
#include <optional>
#include <vector>

namespace hoplite {

class TreeShape {
 public:
  TreeShape() = default;
  // REQUIRES: count > 0, degree > 0.
  TreeShape(std::uint32_t count, std::uint32_t degree);

  std::uint32_t count() const {
    return static_cast<std::uint32_t>(children_.size());
  }
  std::uint32_t degree() const { return degree_; }
  std::uint32_t root() const { return root_; }
  // None for the root.
  std::optional<std::uint32_t> Parent(std::uint32_t position) const {
    return parents_[position];
  }
  // In their order; the first one has a lower number than the position itself.
  const std::vector<std::uint32_t>& Children(std::uint32_t position) const {
    return children_[position];
  }
  // From the parent up to the root.
  std::vector<std::uint32_t> Ancestors(std::uint32_t position) const;

 private:
  std::uint32_t degree_ = 1;
  std::uint32_t root_ = 0;
  std::vector<std::optional<std::uint32_t>> parents_;
  std::vector<std::vector<std::uint32_t>> children_;
};

}  // namespace hoplite

#endif  // HOPLITE_CORE_REDUCE_TREE_SHAPE_H_
