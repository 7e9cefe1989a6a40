// Measures Hoplite's tasks, actor calls and puts, beside Ray's where asked.
//
//   ./bazelw run --config=bench //ray_integration/bench -- [--beside=ray]

#include <cstdint>
#include <cxxopts.hpp>
#include <filesystem>
#include <iostream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "hoplite/base/status_macros.h"
#include "hoplite/cli/command_line.h"
#include "hoplite/cli/program.h"
#include "hoplite/cli/undo_at_signal.h"
#include "ray_integration/bench/call_row.h"
#include "ray_integration/bench/call_systems.h"

namespace hoplite::task {
namespace {

using cli::NumberOf;
using cli::TextOf;

absl::StatusOr<int> CountOf(const cxxopts::ParseResult& parsed,
                            const std::string& name, int least) {
  constexpr int kMost = 1'000'000;
  HOPLITE_ASSIGN_OR_RETURN(const std::uint64_t count,
                           NumberOf(parsed, name, kMost));
  if (count >= static_cast<std::uint64_t>(least)) {
    return static_cast<int>(count);
  }
  return cli::UsageError(absl::StrCat("--", name, " is at least ", least));
}

absl::StatusOr<CallBenchOptions> OptionsOf(const cxxopts::ParseResult& parsed) {
  CallBenchOptions options;
  HOPLITE_ASSIGN_OR_RETURN(options.warm_ups, CountOf(parsed, "warm-ups", 0));
  HOPLITE_ASSIGN_OR_RETURN(options.repetitions,
                           CountOf(parsed, "repetitions", 1));
  HOPLITE_ASSIGN_OR_RETURN(options.batch, CountOf(parsed, "batch", 1));
  HOPLITE_ASSIGN_OR_RETURN(options.calls, CountOf(parsed, "calls", 1));
  return options;
}

class CallBench {
 public:
  CallBench(const CallSystems& systems, bool beside_ray, bool json)
      : systems_(systems), beside_ray_(beside_ray), json_(json) {}

  absl::Status Run() {
    // First, so that it disturbs nobody and fails before an hour has passed.
    if (beside_ray_) HOPLITE_RETURN_IF_ERROR(systems_.InstallRay());
    HOPLITE_RETURN_IF_ERROR(Add("hoplite", &CallSystems::MeasureHoplite));
    if (beside_ray_) {
      HOPLITE_RETURN_IF_ERROR(
          Add("ray-python", &CallSystems::MeasureRayPython));
      HOPLITE_RETURN_IF_ERROR(Add("ray-cpp", &CallSystems::MeasureRayCpp));
    }
    if (!json_) std::cout << CallTable(rows_) << "\n";
    return absl::OkStatus();
  }

 private:
  absl::Status Add(absl::string_view name,
                   absl::StatusOr<CallRow> (CallSystems::*measure)() const) {
    if (!json_) std::cerr << "measuring " << name << " …" << std::endl;
    HOPLITE_ASSIGN_OR_RETURN(CallRow row, (systems_.*measure)());
    if (json_) std::cout << CallRowJson(row) << std::endl;
    rows_.push_back(std::move(row));
    return absl::OkStatus();
  }

  const CallSystems& systems_;
  const bool beside_ray_;
  const bool json_;
  std::vector<CallRow> rows_;
};

absl::Status Measure(const std::string& program,
                     const cxxopts::ParseResult& parsed) {
  cli::UndoAtSignal::Watch();
  HOPLITE_RETURN_IF_ERROR(cli::Positionals(parsed, 0, 0, "").status());
  const std::string beside = TextOf(parsed, "beside");
  if (!beside.empty() && beside != "ray") {
    return cli::UsageError(absl::StrCat("--beside=", beside, ": only ray"));
  }
  HOPLITE_ASSIGN_OR_RETURN(const CallBenchOptions options, OptionsOf(parsed));
  HOPLITE_ASSIGN_OR_RETURN(const CallSystems systems,
                           CallSystems::Create(program, options));
  return CallBench(systems, !beside.empty(), parsed.count("json") > 0).Run();
}

void AddOptions(cxxopts::Options& options) {
  const auto number = [](const char* usual) {
    return cxxopts::value<std::string>()->default_value(usual);
  };
  options.add_options()(
      "beside", "ray: measure Ray too; installs it from PyPI at first use",
      cxxopts::value<std::string>(),
      "NAME")("warm-ups", "Rounds before those that count", number("2"), "N")(
      "repetitions", "Rounds of which the median counts", number("5"), "N")(
      "batch", "Tasks, calls or puts of a round", number("5000"), "N")(
      "calls", "Round trips of a round", number("1000"), "N");
  cli::AddJsonOption(options);
}

int Main(int argc, char** argv) {
  // Absolute, as PrepareProgram goes to another folder.
  const std::string program = std::filesystem::absolute(argv[0]);
  cli::PrepareProgram();
  cxxopts::Options options(
      "bench",
      "Measures empty tasks, actor calls and puts of 1 KB on a node of two "
      "processors on\nthis machine, every result checked. Figures are "
      "medians.");
  options.custom_help("[--beside=ray] [--json]");
  AddOptions(options);
  return cli::RunCommand(options, argc, argv,
                         [&](const cxxopts::ParseResult& parsed) {
                           return Measure(program, parsed);
                         });
}

}  // namespace
}  // namespace hoplite::task

int main(int argc, char** argv) { return hoplite::task::Main(argc, argv); }
