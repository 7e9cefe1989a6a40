// TraceLog keeps the last tasks that have run on a node: for traces.
//
// Thread safety: none; the agent's lock.
// Units: bytes.

#ifndef HOPLITE_RAY_INTEGRATION_AGENT_TRACE_LOG_H_
#define HOPLITE_RAY_INTEGRATION_AGENT_TRACE_LOG_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "ray_integration/base/process_id.h"

namespace hoplite::task {

class TraceLog {
 public:
  // A TaskSpan as Pack makes it, and the worker that ran it.
  using Entry = std::pair<WorkerNumber, std::string>;

  // An answer with all of them has to fit into one frame.
  static constexpr std::size_t kEntriesMax = 100000;
  static constexpr std::size_t kBytesMax = 32 << 20;

  // The oldest make room.
  void Add(WorkerNumber worker, std::string packed);
  // So many did not come here.
  void AddLeftOut(std::uint64_t count) { left_out_ += count; }

  std::vector<Entry> Entries() const {
    return {entries_.begin(), entries_.end()};
  }
  // Those that are not among them.
  std::uint64_t left_out() const { return left_out_; }

 private:
  std::deque<Entry> entries_;
  std::size_t bytes_ = 0;
  std::uint64_t left_out_ = 0;
};

}  // namespace hoplite::task

#endif  // HOPLITE_RAY_INTEGRATION_AGENT_TRACE_LOG_H_
