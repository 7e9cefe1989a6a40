#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "hoplite/base/status_macros.h"
#include "hoplite/cli/command_line.h"
#include "hoplite/cli/commands.h"
#include "hoplite/cli/files.h"
#include "hoplite/runtime/event_recorder.h"
#include "hoplite/runtime/replay.h"

namespace hoplite::cli {
namespace {

absl::Status ReplayFile(const cxxopts::ParseResult& parsed) {
  HOPLITE_ASSIGN_OR_RETURN(
      const std::vector<std::string> paths,
      Positionals(parsed, 1, 1, "the FILE that a node has recorded"));
  HOPLITE_ASSIGN_OR_RETURN(const Descriptor file, OpenForReading(paths[0]));
  HOPLITE_ASSIGN_OR_RETURN(
      const std::string log,
      ReadUntilEnd(file.number(), kLogBytesMax, absl::InfiniteFuture()));
  HOPLITE_ASSIGN_OR_RETURN(const ReplayReport report, Replay(log));
  if (!report.difference.empty()) {
    return absl::FailedPreconditionError(absl::StrCat(
        "this release orders something else in ", report.difference));
  }
  return PrintResult(
      parsed, {{"lives", report.lives}, {"steps", report.steps}},
      absl::StrCat("the same commands in all ", report.steps, " steps of ",
                   report.lives, report.lives == 1 ? " life" : " lives"));
}

}  // namespace

int ReplayCommand(int argc, char** argv) {
  cxxopts::Options options(
      "hoplite replay",
      "Runs the core along the log that `hoplite start --record=FILE` has "
      "written, and\nfails where it orders something else than that node's "
      "did.");
  options.custom_help("FILE [OPTION…]").positional_help("");
  AddJsonOption(options);
  return RunCommand(options, argc, argv, ReplayFile);
}

}  // namespace hoplite::cli
