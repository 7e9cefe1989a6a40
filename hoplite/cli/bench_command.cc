#include <cstdint>
#include <fstream>
#include <iostream>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "hoplite/base/status_macros.h"
#include "hoplite/cli/amounts.h"
#include "hoplite/cli/bench.h"
#include "hoplite/cli/bench_fault.h"
#include "hoplite/cli/bench_options.h"
#include "hoplite/cli/bench_row.h"
#include "hoplite/cli/command_line.h"
#include "hoplite/cli/commands.h"
#include "hoplite/cli/undo_at_signal.h"

namespace hoplite::cli {
namespace {

constexpr std::uint64_t kFactorMax = 1 << 20;
constexpr std::uint64_t kCountMax = 1'000'000;

absl::StatusOr<std::uint64_t> BytesOption(const cxxopts::ParseResult& parsed,
                                          const std::string& name) {
  auto bytes = ParseBytes(parsed[name].as<std::string>());
  if (bytes.ok()) return bytes;
  return AsUsageError(bytes.status());
}

absl::StatusOr<int> SmallNumber(const cxxopts::ParseResult& parsed,
                                const std::string& name) {
  HOPLITE_ASSIGN_OR_RETURN(const std::uint64_t number,
                           NumberOf(parsed, name, kCountMax));
  return static_cast<int>(number);
}

absl::Status SetSizes(const cxxopts::ParseResult& parsed,
                      BenchOptions& options) {
  HOPLITE_ASSIGN_OR_RETURN(options.begin_bytes, BytesOption(parsed, "begin"));
  HOPLITE_ASSIGN_OR_RETURN(options.end_bytes, BytesOption(parsed, "end"));
  HOPLITE_ASSIGN_OR_RETURN(options.factor,
                           NumberOf(parsed, "factor", kFactorMax));
  HOPLITE_ASSIGN_OR_RETURN(options.runs, SmallNumber(parsed, "runs"));
  HOPLITE_ASSIGN_OR_RETURN(options.warm_ups, SmallNumber(parsed, "warmup"));
  HOPLITE_ASSIGN_OR_RETURN(
      options.seed,
      NumberOf(parsed, "seed", std::numeric_limits<std::uint64_t>::max()));
  return absl::OkStatus();
}

absl::Status SetCluster(const cxxopts::ParseResult& parsed,
                        BenchOptions& options) {
  HOPLITE_ASSIGN_OR_RETURN(options.nodes, SmallNumber(parsed, "nodes"));
  if (options.operation == Operation::kRoundtrip &&
      parsed.count("nodes") == 0) {
    options.nodes = 2;
  }
  if (parsed.count("link") > 0) {
    const auto rate = ParseBitRate(TextOf(parsed, "link"));
    if (!rate.ok()) return AsUsageError(rate.status());
    options.link_bits_per_second = *rate;
  }
  options.congestion_control = TextOf(parsed, "congestion");
  options.daemon = parsed.count("daemon") > 0;
  options.join = TextOf(parsed, "join");
  HOPLITE_ASSIGN_OR_RETURN(options.schedule, ScheduleOf(parsed));
  return absl::OkStatus();
}

absl::Status SetTimes(const cxxopts::ParseResult& parsed,
                      BenchOptions& options) {
  if (parsed.count("arrive") > 0) {
    const auto arrive = ParseDuration(TextOf(parsed, "arrive"));
    if (!arrive.ok()) return AsUsageError(arrive.status());
    options.arrive = *arrive;
  }
  HOPLITE_ASSIGN_OR_RETURN(options.timeout, TimeoutOf(parsed));
  return absl::OkStatus();
}

absl::StatusOr<BenchOptions> OptionsOf(const cxxopts::ParseResult& parsed) {
  constexpr absl::string_view kOperations =
      "an operation: roundtrip, broadcast, gather, reduce, allreduce or "
      "allgather";
  HOPLITE_ASSIGN_OR_RETURN(const std::vector<std::string> names,
                           Positionals(parsed, 1, 1, kOperations));
  BenchOptions options;
  const std::optional<Operation> operation = ParseOperation(names[0]);
  if (!operation.has_value()) {
    return UsageError(absl::StrCat("\"", names[0], "\" is not ", kOperations));
  }
  options.operation = *operation;
  HOPLITE_RETURN_IF_ERROR(SetSizes(parsed, options));
  HOPLITE_RETURN_IF_ERROR(SetCluster(parsed, options));
  HOPLITE_RETURN_IF_ERROR(SetTimes(parsed, options));
  if (parsed.count("fault") > 0) {
    const std::string text = TextOf(parsed, "fault");
    options.fault = ParseFault(text);
    if (!options.fault.has_value()) {
      return UsageError(absl::StrCat(
          "--fault=", text,
          " is not none, nor relay, leaf, inner, holder or "
          "root with a percentage as in relay@50%, and where it is not killed "
          "how it is lost as in relay@50%:stop or relay@50%:cut"));
    }
  }
  HOPLITE_RETURN_IF_ERROR(AsUsageError(Validate(options)));
  return options;
}

std::string Title(const BenchOptions& options, const Bench& bench) {
  std::string title = absl::StrFormat(
      "# %s, schedule %s, %d nodes, ", ToString(options.operation),
      ToString(options.schedule), options.nodes);
  if (!options.link_bits_per_second.has_value()) {
    absl::StrAppend(&title, "loopback");
  } else {
    absl::StrAppendFormat(
        &title, "links of %g Mbit/s, %s",
        static_cast<double>(*options.link_bits_per_second) / 1e6,
        bench.congestion_control());
  }
  absl::StrAppend(&title, options.daemon ? ", hoplited and worker" : "");
  if (options.fault.has_value()) {
    absl::StrAppend(&title, ", fault ", ToString(*options.fault));
  }
  return title;
}

// Where rows go as they come.
class RowPrinter {
 public:
  explicit RowPrinter(bool json) : json_(json) {}

  absl::Status OpenCsv(const std::string& path) {
    if (path.empty()) return absl::OkStatus();
    csv_path_ = path;
    csv_.open(path);
    csv_ << CsvHeader() << std::endl;
    if (csv_.good()) return absl::OkStatus();
    return absl::FailedPreconditionError(absl::StrCat("cannot write ", path));
  }
  void PrintHead(absl::string_view title) {
    if (!json_) std::cout << title << "\n" << TableHeader() << std::endl;
  }
  void Print(const BenchRow& row) {
    std::cout << (json_ ? JsonLine(row) : TableLine(row)) << std::endl;
    if (csv_.is_open()) csv_ << CsvLine(row) << std::endl;
  }

  absl::Status Finish() {
    csv_.close();
    if (csv_path_.empty() || csv_.good()) return FlushOutput();
    return absl::FailedPreconditionError(
        absl::StrCat("cannot write ", csv_path_));
  }

 private:
  const bool json_;
  std::string csv_path_;
  std::ofstream csv_;
};

// The exit code is that of a node or a deadline that was to blame.
absl::StatusCode CodeOf(const BenchRow& row) {
  const bool telling = row.code == absl::StatusCode::kUnavailable ||
                       row.code == absl::StatusCode::kDeadlineExceeded;
  return telling ? row.code : absl::StatusCode::kInternal;
}

absl::Status RunBench(const cxxopts::ParseResult& parsed) {
  HOPLITE_ASSIGN_OR_RETURN(const BenchOptions options, OptionsOf(parsed));
  UndoAtSignal::Watch();
  RowPrinter printer(parsed.count("json") > 0);
  HOPLITE_RETURN_IF_ERROR(printer.OpenCsv(TextOf(parsed, "csv")));
  HOPLITE_ASSIGN_OR_RETURN(const std::unique_ptr<Bench> bench,
                           Bench::Create(options));
  absl::StatusCode code = absl::StatusCode::kInternal;
  printer.PrintHead(Title(options, *bench));
  int failed = 0;
  std::uint64_t wrong_bytes = 0;
  bench->RunAll([&](const BenchRow& row) {
    printer.Print(row);
    if (!row.error.empty() && ++failed == 1) code = CodeOf(row);
    wrong_bytes += row.wrong_bytes;
  });
  if (failed == 0 && wrong_bytes == 0) return printer.Finish();
  return absl::Status(
      code,
      absl::StrFormat("%d rows could not be measured, %d bytes were wrong",
                      failed, wrong_bytes));
}

constexpr char kAbout[] =
    "Measures a collective, verifies its result outside the clock, and prints "
    "a row\nfor each size. OP is one of\n"
    "  roundtrip   two nodes, there and back       at best 2 S/B\n"
    "  broadcast   all others Get node 0's object  at best S/B\n"
    "  gather      node 0 Gets all others'         at best (n-1) S/B\n"
    "  reduce      node 0 Gets the sum of all      at best S/B\n"
    "  allreduce   all Get the sum of all          at best 2 (n-1)/n S/B\n"
    "  allgather   each Gets all others'           at best (n-1) S/B\n"
    "where S is an object's size and B what one plain TCP stream reaches.";

}  // namespace

int BenchCommand(int argc, char** argv) {
  cxxopts::Options options("hoplite bench", kAbout);
  options.custom_help("OP [OPTION…]");
  const auto text = [](const char* value) {
    return cxxopts::value<std::string>()->default_value(value);
  };
  const auto any = [] { return cxxopts::value<std::string>(); };
  options.add_options()("b,begin", "The first size", text("1K"), "SIZE")(
      "e,end", "The last size", text("32M"), "SIZE")(
      "f,factor", "From one size to the next", text("32"), "F")(
      "n,runs", "Timed runs of each size", text("5"), "N")(
      "w,warmup", "Runs before them", text("1"), "N")(
      "nodes", "Nodes (a round trip has 2)", text("8"), "N")(
      "link", "On emulated hosts, with links of this rate (default: loopback)",
      any(), "RATE")("congestion",
                     "TCP's congestion control on them (default: the system's)",
                     any(), "NAME")(
      "daemon", "A hoplited and a worker on each host, not embedded nodes")(
      "join", "On the running cluster of this head, which the nodes join",
      any(), "HOST:PORT")("schedule",
                          "hoplite, or plain: whoever wants an object pulls it "
                          "from a complete copy",
                          text("hoplite"), "NAME")(
      "arrive",
      "Members arrive one after another, so far apart, in random order; the "
      "time counts from the last",
      any(), "TIME")(
      "fault",
      "Lose a node in each timed run: relay, leaf, inner, holder or root, as "
      "in relay@50%, by SIGKILL, or :stop or :cut as in leaf@50%:stop; or "
      "none, "
      "to compare with",
      any(), "FAULT")("seed", "Of orders and contents", text("1"), "N")(
      "timeout", "Of each run", text("300s"), "TIME")(
      "csv", "Write the rows to this file, too", any(), "FILE");
  AddJsonOption(options);
  return RunCommand(options, argc, argv, RunBench);
}

}  // namespace hoplite::cli
