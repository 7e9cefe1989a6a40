#include "ray_integration/agent/trace_log.h"

namespace hoplite::task {

void TraceLog::Add(WorkerNumber worker, std::string packed) {
  bytes_ += packed.size();
  entries_.emplace_back(worker, std::move(packed));
  while (entries_.size() > kEntriesMax || bytes_ > kBytesMax) {
    bytes_ -= entries_.front().second.size();
    entries_.pop_front();
    ++left_out_;
  }
}

}  // namespace hoplite::task
