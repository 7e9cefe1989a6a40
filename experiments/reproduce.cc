// Makes figures of the paper again, on emulated hosts on this machine.
//
//   ./bazelw run //:reproduce -- --figures=9 [--quick] [--output=DIR]

#include <unistd.h>

#include <cxxopts.hpp>
#include <filesystem>
#include <iostream>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "experiments/figure9/measure.h"
#include "experiments/figure9/plan.h"
#include "experiments/figure9/report.h"
#include "experiments/figure9/results.h"
#include "experiments/figure9/row.h"
#include "experiments/machine.h"
#include "experiments/programs.h"
#include "experiments/progress.h"
#include "hoplite/base/status_macros.h"
#include "hoplite/cli/command_line.h"
#include "hoplite/cli/program.h"
#include "hoplite/cli/undo_at_signal.h"

namespace hoplite::experiments {
namespace {

// A bar that is drawn over itself on a terminal, and a line a cell elsewhere.
class Screen {
 public:
  void Show(const std::string& line) {
    if (terminal_) std::cerr << "\r" << line << "\033[K" << std::flush;
  }
  void Say(const std::string& line) {
    std::cerr << (terminal_ ? "\r\033[K" : "") << line << std::endl;
  }

 private:
  const bool terminal_ = isatty(STDERR_FILENO) != 0;
};

// The rows that are to be measured, and how many stand.
absl::StatusOr<std::vector<Row>> Missing(const Results& results,
                                         const Programs& programs, bool quick,
                                         Screen& screen) {
  HOPLITE_ASSIGN_OR_RETURN(const std::string build,
                           BuildOf({programs.node, programs.parameter_server}));
  std::vector<Row> missing;
  for (const Cell& cell : Figure9Cells(quick)) {
    Row row = PlannedRow(cell);
    row.machine = ThisMachine();
    row.build = build;
    if (results.Stands(row)) {
      screen.Say(absl::StrCat("kept: ", TitleOf(cell)));
    } else {
      missing.push_back(std::move(row));
    }
  }
  return missing;
}

absl::Status MeasureAll(const std::vector<Row>& missing, Programs programs,
                        Results& results, Screen& screen) {
  std::vector<absl::Duration> expected;
  for (const Row& row : missing) expected.push_back(ExpectedTime(row));
  Progress progress(std::move(expected));
  Figure9 figure(std::move(programs));
  for (const Row& planned : missing) {
    const absl::Time begin = absl::Now();
    const std::string title = TitleOf(planned.cell);
    const auto tick = [&] {
      screen.Show(progress.Line(absl::Now() - begin, title));
    };
    tick();
    const absl::StatusOr<Row> row = figure.Measure(planned, tick);
    if (!row.ok()) {
      return absl::Status(row.status().code(),
                          absl::StrCat(title, ": ", row.status().message(),
                                       " (what was measured before is kept)"));
    }
    HOPLITE_RETURN_IF_ERROR(results.Add(*row));
    progress.Done(absl::Now() - begin);
    screen.Say(progress.Line(
        absl::ZeroDuration(),
        absl::StrFormat("%s: %.0f samples/s, %.2f of the most, limit %s", title,
                        row->median_samples_per_s,
                        row->median_samples_per_s / row->most_samples_per_s,
                        row->limit)));
  }
  return absl::OkStatus();
}

absl::Status MakeFigure9(const Programs& programs, bool quick,
                         const std::string& folder) {
  Screen screen;
  const std::string path = absl::StrCat(folder, "/figure9.csv");
  HOPLITE_ASSIGN_OR_RETURN(Results results, Results::Open(path));
  HOPLITE_ASSIGN_OR_RETURN(const std::vector<Row> missing,
                           Missing(results, programs, quick, screen));
  HOPLITE_RETURN_IF_ERROR(MeasureAll(missing, programs, results, screen));
  std::cout << "Figure 9, asynchronous SGD on " << ThisMachine() << "\n\n"
            << SpeedUpTable(results.rows()) << "\n"
            << path << "; draw it with plots/figure9.py" << std::endl;
  return absl::OkStatus();
}

absl::Status Reproduce(const cxxopts::ParseResult& parsed,
                       const absl::StatusOr<Programs>& programs) {
  HOPLITE_RETURN_IF_ERROR(cli::Positionals(parsed, 0, 0, "").status());
  const std::string figures = cli::TextOf(parsed, "figures");
  if (figures != "9") {
    return cli::UsageError("--figures is 9: no other can be made as yet");
  }
  HOPLITE_RETURN_IF_ERROR(programs.status());
  const std::string folder = parsed["output"].as<std::string>();
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) {
    return absl::FailedPreconditionError(
        absl::StrCat(folder, ": ", error.message()));
  }
  cli::UndoAtSignal::Watch();
  return MakeFigure9(*programs, parsed.count("quick") > 0, folder);
}

}  // namespace
}  // namespace hoplite::experiments

int main(int argc, char** argv) {
  using hoplite::experiments::FindPrograms;
  const auto programs = FindPrograms(argv[0]);  // the folder changes below
  hoplite::cli::PrepareProgram();
  cxxopts::Options options(
      "reproduce",
      "Makes figures of the paper again on emulated hosts: a table here, the "
      "numbers\nas CSV. A run that was interrupted goes on where it stopped.");
  options.add_options()("figures", "Which: 9", cxxopts::value<std::string>(),
                        "LIST")("quick",
                                "8 hosts and AlexNet only, below 5 minutes")(
      "output", "The folder for what is measured",
      cxxopts::value<std::string>()->default_value("results"), "DIR");
  return hoplite::cli::RunCommand(
      options, argc, argv, [&](const cxxopts::ParseResult& parsed) {
        return hoplite::experiments::Reproduce(parsed, programs);
      });
}
