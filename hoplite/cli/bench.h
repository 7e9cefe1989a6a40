// `hoplite bench`: measures collectives on emulated hosts or on loopback, and
// verifies each result outside the clock.
//
// The clock of a run starts, for all members at one moment, when every object
// is put, and ends when the last Get is done. Where members arrive one after
// another it starts at the last arrival. With a fault it runs on until all who
// are left are done, and each node that was lost is started again before the
// next run.
//
// Thread safety: none; one thread at a time.

#ifndef HOPLITE_CLI_BENCH_H_
#define HOPLITE_CLI_BENCH_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "hoplite/cli/bench_cluster.h"
#include "hoplite/cli/bench_content.h"
#include "hoplite/cli/bench_options.h"
#include "hoplite/cli/bench_row.h"
#include "hoplite/cli/bench_strike.h"
#include "hoplite/testbed/testbed.h"

namespace hoplite::cli {

class Bench {
 public:
  // Makes the hosts. REQUIRES: the options are valid.
  // Errors: kPermissionDenied where the system forbids emulated hosts, and the
  // others of Testbed::Create.
  static absl::StatusOr<std::unique_ptr<Bench>> Create(
      const BenchOptions& options);

  // Every size of the options; `take` gets each row when it is measured. A row
  // that fails says why, and the others go on.
  void RunAll(const std::function<void(const BenchRow&)>& take);
  // One row, of operation, size, schedule, arrival or file other than those
  // that this was made with.
  BenchRow RunRow(const BenchOptions& options, std::uint64_t bytes);

  // What TCP on the hosts uses; empty on loopback.
  std::string congestion_control() const;

 private:
  // What the runs of a row have in common.
  struct RowContext {
    const BenchOptions& options;
    BenchCluster& cluster;
    std::string file_sha256;
    bool timed = false;       // and no warm-up
    double seconds = 0;       // of all timed runs
    double idle_seconds = 0;  // the share of them, times their length
    std::vector<double> times_ms;
    std::vector<double> detections_ms;  // where a node is lost in each
    // Whether a node is lost in this run.
    bool faulty() const {
      return timed && options.fault.has_value() &&
             options.fault->place != FaultPlace::kNone;
    }
  };
  // What came of one run.
  struct RunResult {
    // Until the last member was done, from when the last one arrived.
    double time_ms = 0;
    absl::StatusCode ended = absl::StatusCode::kOk;
    std::vector<std::uint32_t> sources;  // that a reduction took
    std::optional<Strike> strike;
    bool lost(std::size_t member) const {
      return strike.has_value() &&
             static_cast<std::size_t>(strike->victim) == member;
    }
  };

  explicit Bench(const BenchOptions& options);

  absl::Status Measure(const BenchOptions& options, BenchRow& row);
  absl::StatusOr<double> PayloadMbit(std::uint64_t bucket_bytes);
  absl::Status MeasureSmall(const BenchOptions& options, BenchCluster& cluster,
                            BenchRow& row);
  // New connections are made, and links measured, before any clock runs.
  absl::Status Warm(BenchCluster& cluster, absl::string_view occasion);
  absl::Status RunAll(RowContext& context, BenchRow& row);
  RunContent ContentOf(const BenchOptions& options, std::uint64_t run) const;
  absl::Status Prepare(RowContext& context, std::uint64_t run, BenchRow& row);
  absl::Status RunOnce(RowContext& context, std::uint64_t run, BenchRow& row);
  absl::StatusOr<RunResult> RunClock(RowContext& context, std::uint64_t run);
  absl::StatusOr<Strike> StrikeIn(RowContext& context, std::uint64_t run);
  // Waits for those who are left.
  absl::Status Await(RowContext& context, std::int64_t from, RunResult& result);
  // After a run with a fault: all is as it was before.
  absl::Status Recover(RowContext& context, std::uint64_t run,
                       const RunResult& result, BenchRow& row);

  const BenchOptions options_;
  const std::string nonce_;
  std::unique_ptr<testbed::Testbed> hosts_;
  std::map<std::uint64_t, double> payload_mbit_;  // by the links' bucket
  std::uint64_t row_number_ = 0;
};

}  // namespace hoplite::cli

#endif  // HOPLITE_CLI_BENCH_H_
