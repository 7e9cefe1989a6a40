// `hoplite bench`: measures collectives on emulated hosts or on loopback, and
// verifies each result outside the clock.
//
// The clock of a run starts, for all members at one moment, when every object
// is put, and ends when the last Get is done. Where members arrive one after
// another it starts at the last arrival.
//
// Thread safety: none; one thread at a time.

#ifndef HOPLITE_CLI_BENCH_H_
#define HOPLITE_CLI_BENCH_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "hoplite/cli/bench_cluster.h"
#include "hoplite/cli/bench_options.h"
#include "hoplite/cli/bench_row.h"
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
    double seconds = 0;       // of all timed runs
    double idle_seconds = 0;  // the share of them, times their length
    std::vector<double> times_ms;
  };

  explicit Bench(const BenchOptions& options);

  absl::Status Measure(const BenchOptions& options, BenchRow& row);
  absl::StatusOr<double> PayloadMbit(std::uint64_t bucket_bytes);
  absl::Status MeasureSmall(const BenchOptions& options, BenchCluster& cluster,
                            BenchRow& row);
  absl::Status Prepare(RowContext& context, std::uint64_t run, BenchRow& row);
  absl::Status RunOnce(RowContext& context, std::uint64_t run, BenchRow& row);
  // Returns when the last member was done, in milliseconds after the last one
  // arrived.
  absl::StatusOr<double> RunClock(RowContext& context, std::uint64_t run);

  const BenchOptions options_;
  const std::string nonce_;
  std::unique_ptr<testbed::Testbed> hosts_;
  std::map<std::uint64_t, double> payload_mbit_;  // by the links' bucket
  std::uint64_t row_number_ = 0;
};

}  // namespace hoplite::cli

#endif  // HOPLITE_CLI_BENCH_H_
