// The processes and nodes that were lost of late: what still comes of them is
// late, and is not to be taken up.
//
// Thread safety: none; one thread at a time.

#ifndef HOPLITE_RAY_INTEGRATION_SCHEDULER_RECENTLY_LOST_H_
#define HOPLITE_RAY_INTEGRATION_SCHEDULER_RECENTLY_LOST_H_

#include <cstddef>
#include <deque>
#include <set>

#include "hoplite/base/id.h"
#include "ray_integration/base/process_id.h"

namespace hoplite::task {

class RecentlyLost {
 public:
  void Add(const ProcessId& process) {
    if (!lost_.insert(process).second) return;
    order_.push_back(process);
    if (order_.size() <= kKeptMax) return;
    lost_.erase(order_.front());
    order_.pop_front();
  }
  // With all of its processes.
  void Add(const NodeRef& node) { Add(ProcessId{node, WorkerNumber()}); }

  bool Contains(const ProcessId& process) const {
    return lost_.contains(process) ||
           lost_.contains(ProcessId{process.node, WorkerNumber()});
  }

 private:
  // What is under way for longer than it takes to lose so many is not.
  static constexpr std::size_t kKeptMax = 4096;

  std::set<ProcessId> lost_;
  std::deque<ProcessId> order_;
};

}  // namespace hoplite::task

#endif  // HOPLITE_RAY_INTEGRATION_SCHEDULER_RECENTLY_LOST_H_
