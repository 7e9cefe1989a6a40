// The systems that are measured, one after the other: each as a node of two
// processors on this machine, with files of its own, gone when its figures are
// there.
//
// Thread safety: none; one thread at a time.

#ifndef HOPLITE_RAY_INTEGRATION_BENCH_CALL_SYSTEMS_H_
#define HOPLITE_RAY_INTEGRATION_BENCH_CALL_SYSTEMS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "ray_integration/bench/call_row.h"

namespace hoplite::task {

// As CallPlan, which the programs of the systems read.
struct CallBenchOptions {
  int warm_ups = 2;
  int repetitions = 5;
  int batch = 5000;
  int calls = 1000;
};

class CallSystems {
 public:
  // Finds its programs beside `program`, the first word of the command line.
  // Errors: kNotFound: Bazel has not put them there.
  static absl::StatusOr<CallSystems> Create(absl::string_view program,
                                            const CallBenchOptions& options);

  // Errors: kInternal: it did not start, or gave no figures; what it says of it
  // is on standard error.
  absl::StatusOr<CallRow> MeasureHoplite() const;

  // Ray, from PyPI, in the user's folder of caches; at once where it is there.
  // Errors: kUnavailable.
  absl::Status InstallRay() const;
  // REQUIRES: InstallRay. Errors: as MeasureHoplite.
  absl::StatusOr<CallRow> MeasureRayPython() const;
  absl::StatusOr<CallRow> MeasureRayCpp() const;

 private:
  CallSystems(std::string node_program, std::string calls_program,
              std::string ray_folder, const CallBenchOptions& options)
      : node_program_(std::move(node_program)),
        calls_program_(std::move(calls_program)),
        ray_folder_(std::move(ray_folder)),
        options_(options) {}

  // The words that CallPlan::Parse reads.
  std::vector<std::string> PlanWords() const;
  absl::StatusOr<CallRow> MeasureRay(
      const std::vector<std::string>& programs) const;

  std::string node_program_;
  std::string calls_program_;
  std::string ray_folder_;  // of what measures Ray
  CallBenchOptions options_;
};

}  // namespace hoplite::task

#endif  // HOPLITE_RAY_INTEGRATION_BENCH_CALL_SYSTEMS_H_
