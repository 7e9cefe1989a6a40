// A workload written down operation by operation, for scenarios.
//
//   Script script;
//   const auto put = script.Put(1, "weights", 1 << 20);
//   script.Get(2, "weights").At(absl::Milliseconds(5)).After(put);
//
// Objects go by names. Operations must succeed, unless they MayFail.
//
// Thread safety: none; one thread at a time.
// Units: bytes.

#ifndef HOPLITE_SIM_SCRIPT_H_
#define HOPLITE_SIM_SCRIPT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "hoplite/base/reduction.h"
#include "hoplite/sim/workload.h"

namespace hoplite::sim {

class Script {
 public:
  // Refers to one operation and adjusts it; cheap to copy. It is valid as
  // long as the script.
  class Step {
   public:
    Step(Workload* workload, std::size_t index)
        : workload_(workload), index_(index) {}

    std::size_t index() const { return index_; }
    // The operation's start, from the start of the run or the last of After.
    Step At(absl::Duration start) const;
    Step After(Step earlier) const;
    Step Within(absl::Duration timeout) const;
    Step CancelAfter(absl::Duration delay) const;
    Step MayFail() const;
    // Of a Put: written piece by piece in this time; given up at the end;
    // read by reductions meanwhile; small, in one go.
    Step WritingFor(absl::Duration time) const;
    Step Abandons() const;
    Step Streams() const;
    Step WithPayload() const;
    // Of a Get: the answer is held so long.
    Step ReadingFor(absl::Duration time) const;

   private:
    Operation& operation() const { return (*workload_)[index_]; }
    Workload* workload_;
    std::size_t index_;
  };

  Step Put(std::uint32_t node, absl::string_view object, std::uint64_t size);
  Step Get(std::uint32_t node, absl::string_view object);
  Step Delete(std::uint32_t node, absl::string_view object);
  Step Reduce(std::uint32_t node, absl::string_view target,
              const std::vector<std::string>& sources, std::uint32_t count,
              ReduceOp op = ReduceOp::kSum);

  const Workload& workload() const { return workload_; }

 private:
  template <typename Spec>
  Step Add(const Spec& spec);

  Workload workload_;
};

// "source1", "source2", …
std::vector<std::string> Names(absl::string_view stem, std::uint32_t count);

}  // namespace hoplite::sim

#endif  // HOPLITE_SIM_SCRIPT_H_
