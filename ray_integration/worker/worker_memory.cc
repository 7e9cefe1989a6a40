#include "ray_integration/worker/worker_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>

namespace hoplite::task {

absl::StatusOr<int> WorkerMemory::MakeFile() {
  const int file = memfd_create("hoplite-worker", 0);
  if (file < 0 || ftruncate(file, sizeof(Area)) != 0) {
    const absl::Status status = absl::ErrnoToStatus(errno, "memfd_create");
    if (file >= 0) close(file);
    return status;
  }
  return file;
}

WorkerMemory::WorkerMemory(int file) : WorkerMemory(Map(file)) {}

WorkerMemory::WorkerMemory(Area* area)
    : area_(area),
      begun_(area == nullptr ? nullptr : &area->begun),
      spans_(area == nullptr ? nullptr : &area->spans) {}

WorkerMemory::~WorkerMemory() {
  if (area_ != nullptr) munmap(area_, sizeof(Area));
}

WorkerMemory::Area* WorkerMemory::Map(int file) {
  if (file < 0) return nullptr;
  void* const mapped =
      mmap(nullptr, sizeof(Area), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  return mapped == MAP_FAILED ? nullptr : static_cast<Area*>(mapped);
}

}  // namespace hoplite::task
