// What a worker says of itself in memory that its agent can read at any time,
// also after the worker's death: the task that it has begun, and which actor
// it is.
//
// Thread safety: one writer; the reader may read meanwhile, and sees one task
// or the other.

#ifndef HOPLITE_RAY_INTEGRATION_WORKER_BEGUN_MEMORY_H_
#define HOPLITE_RAY_INTEGRATION_WORKER_BEGUN_MEMORY_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "hoplite/base/id.h"

namespace hoplite::task {

struct Begun {
  ObjectId result;  // none: no task runs
  absl::Time since;
  std::string function;  // a long name is cut
  std::string actor;     // the function that made it; empty: none
};

class BegunMemory {
 public:
  // A name as the memory has it: ended by a zero, or by its size.
  using Name = std::array<char, 96>;
  struct Content {
    ObjectId::Bytes result{};
    std::int64_t since_nanos = 0;
    Name function{};
    Name actor{};
  };
  static constexpr std::size_t kWords = sizeof(Content) / sizeof(std::uint64_t);
  // All zeros is no task.
  struct Area {
    std::atomic<std::uint64_t> version;  // odd while it is written
    std::array<std::atomic<std::uint64_t>, kWords> words;
  };

  // Null: of nobody, and never read. Ownership: `area` outlives this.
  explicit BegunMemory(Area* area) : area_(area) {}

  // The task with this result runs.
  void Set(const ObjectId& result, absl::string_view function,
           absl::Time since);
  // None does.
  void Clear();
  // What it has made is an actor, for good.
  void SetActor(absl::string_view function);
  Begun Read() const;

 private:
  void Write();

  Area* const area_;
  Content content_;  // of the writer
};

}  // namespace hoplite::task

#endif  // HOPLITE_RAY_INTEGRATION_WORKER_BEGUN_MEMORY_H_
