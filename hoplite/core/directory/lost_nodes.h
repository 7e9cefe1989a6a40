// The nodes that were declared dead lately. Who has not heard of it yet may
// still name them.
//
// Thread safety: none; one thread at a time.

#ifndef HOPLITE_CORE_DIRECTORY_LOST_NODES_H_
#define HOPLITE_CORE_DIRECTORY_LOST_NODES_H_

#include <algorithm>
#include <cstddef>
#include <deque>

#include "hoplite/base/id.h"

namespace hoplite {

class LostNodes {
 public:
  void Add(NodeRef node) {
    if (Contains(node)) return;
    nodes_.push_back(node);
    if (nodes_.size() > kKept) nodes_.pop_front();
  }
  bool Contains(NodeRef node) const {
    return std::find(nodes_.begin(), nodes_.end(), node) != nodes_.end();
  }

 private:
  // More than die before everybody has heard of the first of them.
  static constexpr std::size_t kKept = 256;
  std::deque<NodeRef> nodes_;
};

}  // namespace hoplite

#endif  // HOPLITE_CORE_DIRECTORY_LOST_NODES_H_
