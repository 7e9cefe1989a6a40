// The trace of a run, as a hash that tells whether two runs were the same, and
// as lines where somebody wants to read them.
//
// Thread safety: none; one thread at a time.

#ifndef HOPLITE_RAY_INTEGRATION_SCHEDULER_SIM_TRACE_H_
#define HOPLITE_RAY_INTEGRATION_SCHEDULER_SIM_TRACE_H_

#include <cstdint>
#include <functional>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "hoplite/base/id.h"
#include "ray_integration/scheduler/scheduler_command.h"
#include "ray_integration/scheduler/scheduler_event.h"

namespace hoplite::task::sim {

class Trace {
 public:
  using LineSink = std::function<void(absl::string_view)>;

  // `sink`, where there is one, gets every line. `thorough`: the hash is that
  // of the lines; else of what kind each one is, of whom and when.
  explicit Trace(bool thorough, LineSink sink = nullptr)
      : thorough_(thorough), sink_(std::move(sink)) {}

  std::uint64_t hash() const { return hash_; }
  std::uint64_t line_count() const { return line_count_; }

  void OnEvent(absl::Time now, NodeRef node, const SchedulerEvent& event);
  void OnCommand(absl::Time now, NodeRef node, const SchedulerCommand& command);
  // Anything else that happens: a task's step, a fault.
  void OnStep(absl::Time now, NodeRef node, absl::string_view what,
              std::uint64_t number);

 private:
  void Mix(std::uint64_t value);
  void Line(absl::Time now, NodeRef node, char kind, const std::string& text);
  void Short(absl::Time now, NodeRef node, std::uint64_t kind);

  const bool thorough_;
  const LineSink sink_;
  std::uint64_t hash_ = 0xcbf29ce484222325u;
  std::uint64_t line_count_ = 0;
};

}  // namespace hoplite::task::sim

#endif  // HOPLITE_RAY_INTEGRATION_SCHEDULER_SIM_TRACE_H_
