// The memory that a worker shares with its agent: a file without a name, which
// the worker is started with.
//
// Thread safety: none of its own; see its two parts.

#ifndef HOPLITE_RAY_INTEGRATION_WORKER_WORKER_MEMORY_H_
#define HOPLITE_RAY_INTEGRATION_WORKER_WORKER_MEMORY_H_

#include "absl/status/statusor.h"
#include "ray_integration/worker/begun_memory.h"
#include "ray_integration/worker/span_ring.h"

namespace hoplite::task {

class WorkerMemory {
 public:
  // A file for one, all zeros; the caller closes it.
  // Errors: kResourceExhausted.
  static absl::StatusOr<int> MakeFile();

  // Maps the file, which may be closed then; -1: of nobody, and never read.
  explicit WorkerMemory(int file);
  ~WorkerMemory();
  WorkerMemory(const WorkerMemory&) = delete;
  WorkerMemory& operator=(const WorkerMemory&) = delete;

  BegunMemory& begun() { return begun_; }
  const BegunMemory& begun() const { return begun_; }
  SpanRing& spans() { return spans_; }

 private:
  struct Area {
    BegunMemory::Area begun;
    SpanRing::Area spans;
  };
  explicit WorkerMemory(Area* area);
  static Area* Map(int file);

  Area* const area_;
  BegunMemory begun_;
  SpanRing spans_;
};

}  // namespace hoplite::task

#endif  // HOPLITE_RAY_INTEGRATION_WORKER_WORKER_MEMORY_H_
