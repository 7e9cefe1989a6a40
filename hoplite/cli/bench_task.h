// One member's part in one run of a benchmark: what it puts before the clock,
// its timed work, and whether what it got is right.
//
// Thread safety: none; one thread at a time.
// Units: bytes; nanoseconds of the steady clock.

#ifndef HOPLITE_CLI_BENCH_TASK_H_
#define HOPLITE_CLI_BENCH_TASK_H_

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "hoplite/api/hoplite.h"
#include "hoplite/cli/bench_content.h"
#include "hoplite/cli/bench_options.h"

namespace hoplite::cli {

struct TaskPlan {
  Operation operation = Operation::kBroadcast;
  Schedule schedule = Schedule::kHoplite;
  std::uint32_t member = 0;
  std::uint32_t members = 1;  // whose number is the caller's, puts nothing
  // Of a reduction: who calls it, and how many sources go in.
  std::uint32_t caller = 0;
  std::uint32_t count = 1;
  std::uint64_t bytes = 0;
  RunContent content;
  bool arrives = false;  // one after another: what it puts is sealed then
  absl::Duration timeout;
  // Broadcast of a file: the bytes are its own, and so is their digest.
  std::string file;
  std::string file_sha256;
};

nlohmann::json ToJson(const TaskPlan& plan);
// The inverse. REQUIRES: what ToJson makes.
TaskPlan TaskPlanFromJson(const nlohmann::json& json);

class BenchTask {
 public:
  // Ownership: `client` must outlive this.
  BenchTask(Client& client, TaskPlan plan)
      : client_(client),
        plan_(std::move(plan)),
        call_{.timeout = plan_.timeout} {}

  // Before the clock: puts this member's object, where it has one (where
  // members arrive one after another: all but its Seal). Returns how long the
  // Put took, in nanoseconds; 0 where there is none.
  absl::StatusOr<std::int64_t> Prepare();
  // The timed part, from `start` (and `arrival`, not before it), until the last
  // Get is done.
  absl::Status Run(std::int64_t start, std::int64_t arrival);
  // After Run, at the reduction's caller: the objects that went in.
  const std::vector<std::uint32_t>& sources() const { return sources_; }
  // How many bytes of what it got are wrong, where a sum is that of `sources`.
  std::uint64_t CountWrongBytes(
      const std::vector<std::uint32_t>& sources) const;
  // Deletes what this member has put, after letting go of what it got.
  absl::Status CleanUp();

 private:
  bool Puts() const;
  bool PutsAtArrival() const;
  absl::StatusOr<std::int64_t> PutNow(std::span<const std::byte> bytes);
  absl::Status Arrive(std::int64_t arrival);
  absl::Status Get(std::uint32_t object);
  absl::Status GetAll(std::uint32_t first);
  absl::Status GoAndComeBack();
  absl::Status Reduce(std::int64_t arrival);
  absl::Status TakeSources(const ReduceResult& used);
  absl::Status ReducePlainly(std::int64_t arrival);

  Client& client_;
  const TaskPlan plan_;
  const CallOptions call_;
  std::optional<WritableBuffer> unsealed_;
  std::vector<std::pair<std::uint32_t, Buffer>> got_;  // by object
  std::vector<std::uint32_t> sources_;
  std::vector<ObjectId> made_;  // to delete
};

}  // namespace hoplite::cli

#endif  // HOPLITE_CLI_BENCH_TASK_H_
