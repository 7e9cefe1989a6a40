// One row of a benchmark: what was measured, against what is possible at best.
//
// Thread safety: values; as safe as int.
// Units: as the fields say; `bytes` is the size of one object.

#ifndef HOPLITE_CLI_BENCH_ROW_H_
#define HOPLITE_CLI_BENCH_ROW_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "hoplite/cli/bench_options.h"

namespace hoplite::cli {

struct BenchRow {
  Operation operation = Operation::kBroadcast;
  Schedule schedule = Schedule::kHoplite;
  int nodes = 0;
  std::uint64_t bytes = 0;
  double link_mbit = 0;     // asked for; 0: loopback
  double payload_mbit = 0;  // what one plain TCP stream reached, in this run
  std::uint64_t bucket_bytes = 0;
  double put_ms = 0;  // the slowest node's Put
  double median_ms = 0;
  double min_ms = 0;
  double max_ms = 0;
  double bound_ms = 0;
  double ratio = 0;     // median over bound
  double max_sent = 0;  // payload bytes of the busiest node, over `bytes`
  double idle = 0;      // 0 to 1, all cores, during the timed runs
  std::uint64_t wrong_bytes = 0;
  double peak_rss_mib = 0;  // private memory of the largest node's process
  std::string marked;       // why the row is weak: "bucket", "processor", …
  // Roundtrip only: a warmed gRPC stream's echo of as many bytes; and one Get
  // of an object that the other node has put, where it is at most 64 KiB.
  double echo_ms = 0;
  double get_ms = 0;
  // Of a benchmark with a fault only: which; how long until all others knew of
  // it, median and at most; where it struck, the farthest from what was asked;
  // and how the operation ended for those who were left.
  std::string fault;
  double detect_ms = 0;
  double detect_max_ms = 0;
  double fault_percent = 0;
  absl::StatusCode ended = absl::StatusCode::kOk;
  std::string error;  // why there are no figures, or empty
  absl::StatusCode code = absl::StatusCode::kOk;  // of the error
};

// The lower bound in milliseconds at `payload_mbit`: S/B for broadcast and
// reduce, (n-1) S/B for gather and allgather, 2 (n-1)/n S/B for allreduce,
// 2 S/B for a round trip.
double BoundMs(Operation operation, int nodes, std::uint64_t bytes,
               double payload_mbit);

// The middle one, or the mean of the two in the middle. REQUIRES: not empty.
double Median(std::vector<double> values);
// Sets min, median, max and ratio. REQUIRES: at least one time.
void SetTimes(BenchRow& row, std::vector<double> times_ms);

// The columns of nccl-tests, then ours: two lines of header, one of a row.
std::string TableHeader();
std::string TableLine(const BenchRow& row);
std::string CsvHeader();
std::string CsvLine(const BenchRow& row);
std::string JsonLine(const BenchRow& row);

}  // namespace hoplite::cli

#endif  // HOPLITE_CLI_BENCH_ROW_H_
