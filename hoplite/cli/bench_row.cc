#include "hoplite/cli/bench_row.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "absl/strings/str_format.h"
#include "hoplite/base/check.h"

namespace hoplite::cli {
namespace {

// nccl-tests: what the links carried, whatever the number of nodes.
double BusFactor(Operation operation, int nodes) {
  const double n = nodes;
  switch (operation) {
    case Operation::kAllreduce:
      return 2 * (n - 1) / n;
    case Operation::kGather:
    case Operation::kAllgather:
      return n - 1;
    case Operation::kRoundtrip:
      return 2;
    case Operation::kBroadcast:
    case Operation::kReduce:
      return 1;
  }
  return 1;
}

// Whether node 0 has a part of its own.
bool HasRoot(Operation operation) {
  return operation != Operation::kAllreduce &&
         operation != Operation::kAllgather;
}

// "OK", "DATA_LOSS", …; empty where there are no figures.
std::string EndOf(const BenchRow& row) {
  return row.error.empty() ? absl::StatusCodeToString(row.ended) : "";
}

// A field of a CSV file: neither a comma nor the end of a line.
std::string OneField(std::string text) {
  std::ranges::replace(text, ',', ';');
  std::ranges::replace(text, '\n', ' ');
  return text;
}

}  // namespace

double BoundMs(Operation operation, int nodes, std::uint64_t bytes,
               double payload_mbit) {
  const double once_ms = static_cast<double>(bytes) * 8 / (payload_mbit * 1e3);
  return BusFactor(operation, nodes) * once_ms;
}

double Median(std::vector<double> values) {
  HOPLITE_CHECK(!values.empty());
  std::ranges::sort(values);
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle]
                                : (values[middle - 1] + values[middle]) / 2;
}

void SetTimes(BenchRow& row, std::vector<double> times_ms) {
  row.median_ms = Median(times_ms);
  const auto [least, most] = std::ranges::minmax(times_ms);
  row.min_ms = least;
  row.max_ms = most;
  row.ratio = row.bound_ms > 0 ? row.median_ms / row.bound_ms : 0;
}

std::string TableHeader() {
  return absl::StrFormat(
      "#%11s %11s %5s %5s %4s %11s %8s %8s %6s | %9s %9s %9s %7s %8s %5s %8s "
      "%7s %s\n"
      "#%11s %11s %5s %5s %4s %11s %8s %8s %6s | %9s %9s %9s %7s %8s %5s %8s "
      "%7s",
      "size", "count", "type", "redop", "root", "time", "algbw", "busbw",
      "#wrong", "min", "max", "bound", "ratio", "max_sent", "idle", "put",
      "rss", "marked", "(B)", "(elements)", "", "", "", "(us)", "(GB/s)",
      "(GB/s)", "", "(ms)", "(ms)", "(ms)", "", "", "", "(ms)", "(MiB)");
}

std::string TableLine(const BenchRow& row) {
  if (!row.error.empty()) {
    return absl::StrFormat(" %11d %s", row.bytes, row.error);
  }
  const bool reduces = Reduces(row.operation);
  const double rate = row.median_ms > 0
                          ? static_cast<double>(row.bytes) / row.median_ms / 1e6
                          : 0;
  std::string line = absl::StrFormat(
      " %11d %11d %5s %5s %4d %11.1f %8.4f %8.4f %6d | %9.3f %9.3f %9.3f "
      "%7.3f %8.2f %5.2f %8.2f %7.1f %s",
      row.bytes, reduces ? row.bytes / 4 : row.bytes, reduces ? "f32" : "u8",
      reduces ? "sum" : "none", HasRoot(row.operation) ? 0 : -1,
      row.median_ms * 1e3, rate, rate * BusFactor(row.operation, row.nodes),
      row.wrong_bytes, row.min_ms, row.max_ms, row.bound_ms, row.ratio,
      row.max_sent, row.idle, row.put_ms, row.peak_rss_mib, row.marked);
  if (row.operation == Operation::kRoundtrip) {
    absl::StrAppendFormat(&line, " grpc_echo=%.3fms get=%.3fms", row.echo_ms,
                          row.get_ms);
  }
  if (!row.fault.empty()) {
    absl::StrAppendFormat(&line,
                          " fault=%s at=%.1f%% detect=%.1fms (at most %.1fms) "
                          "ended=%s",
                          row.fault, row.fault_percent, row.detect_ms,
                          row.detect_max_ms, EndOf(row));
  }
  return line;
}

std::string CsvHeader() {
  return "op,schedule,nodes,bytes,link_mbit,payload_mbit,bucket_bytes,put_ms,"
         "median_ms,min_ms,max_ms,bound_ms,ratio,max_sent,idle,wrong_bytes,"
         "peak_rss_mib,marked,echo_ms,get_ms,fault,detect_ms,detect_max_ms,"
         "fault_percent,ended,error";
}

std::string CsvLine(const BenchRow& row) {
  return absl::StrFormat(
      "%s,%s,%d,%d,%.6g,%.6g,%d,%.3f,%.4f,%.4f,%.4f,%.4f,%.4f,%.4f,%.3f,%d,"
      "%.1f,%s,%.4f,%.4f,%s,%.3f,%.3f,%.2f,%s,%s",
      ToString(row.operation), ToString(row.schedule), row.nodes, row.bytes,
      row.link_mbit, row.payload_mbit, row.bucket_bytes, row.put_ms,
      row.median_ms, row.min_ms, row.max_ms, row.bound_ms, row.ratio,
      row.max_sent, row.idle, row.wrong_bytes, row.peak_rss_mib, row.marked,
      row.echo_ms, row.get_ms, row.fault, row.detect_ms, row.detect_max_ms,
      row.fault_percent, EndOf(row), OneField(row.error));
}

std::string JsonLine(const BenchRow& row) {
  const nlohmann::ordered_json json = {
      {"op", std::string(ToString(row.operation))},
      {"schedule", std::string(ToString(row.schedule))},
      {"nodes", row.nodes},
      {"bytes", row.bytes},
      {"link_mbit", row.link_mbit},
      {"payload_mbit", row.payload_mbit},
      {"bucket_bytes", row.bucket_bytes},
      {"put_ms", row.put_ms},
      {"median_ms", row.median_ms},
      {"min_ms", row.min_ms},
      {"max_ms", row.max_ms},
      {"bound_ms", row.bound_ms},
      {"ratio", row.ratio},
      {"max_sent", row.max_sent},
      {"idle", row.idle},
      {"wrong_bytes", row.wrong_bytes},
      {"peak_rss_mib", row.peak_rss_mib},
      {"marked", row.marked},
      {"echo_ms", row.echo_ms},
      {"get_ms", row.get_ms},
      {"fault", row.fault},
      {"detect_ms", row.detect_ms},
      {"detect_max_ms", row.detect_max_ms},
      {"fault_percent", row.fault_percent},
      {"ended", EndOf(row)},
      {"error", row.error}};
  return json.dump();
}

}  // namespace hoplite::cli
