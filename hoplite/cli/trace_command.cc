#include <memory>
#include <span>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "hoplite/base/status_macros.h"
#include "hoplite/cli/command_line.h"
#include "hoplite/cli/commands.h"
#include "hoplite/cli/companion.h"
#include "hoplite/cli/files.h"
#include "hoplite/cli/undo_at_signal.h"
#include "hoplite/runtime/node_report.h"

namespace hoplite::cli {
namespace {

std::string Summary(const CompanionTrace& trace, const std::string& output) {
  std::string text =
      absl::StrCat(trace.tasks, " tasks and ", trace.transfers,
                   " transfers of ", trace.nodes, " nodes to ", output,
                   ", which https://ui.perfetto.dev opens");
  if (trace.left_out > 0) {
    absl::StrAppend(&text, "; ", trace.left_out, " earlier tasks are not kept");
  }
  if (!trace.silent.empty()) {
    absl::StrAppend(&text, "; no answer came from ",
                    absl::StrJoin(trace.silent, ", "));
  }
  return text;
}

absl::Status Trace(const cxxopts::ParseResult& parsed) {
  HOPLITE_RETURN_IF_ERROR(Positionals(parsed, 0, 0, "").status());
  if (TheCompanion().trace == nullptr) {
    return UsageError("this program runs no tasks, so there is nothing to see");
  }
  HOPLITE_ASSIGN_OR_RETURN(const absl::Time deadline, DeadlineOf(parsed));
  const std::string output = TextOf(parsed, "output");
  if (output.empty()) {
    return UsageError("say where to: -o FILE, or -o - for standard output");
  }
  HOPLITE_RETURN_IF_ERROR(CheckOutput(parsed, output));
  HOPLITE_RETURN_IF_ERROR(CheckWritable(output));
  UndoAtSignal::Watch();
  HOPLITE_ASSIGN_OR_RETURN(const std::unique_ptr<Client> client,
                           ConnectClient(parsed, deadline));
  HOPLITE_ASSIGN_OR_RETURN(const NodeReport report,
                           client->Report({.timeout = TimeLeft(deadline)}));
  HOPLITE_ASSIGN_OR_RETURN(const CompanionTrace trace,
                           TheCompanion().trace(report.socket_path, deadline));
  HOPLITE_RETURN_IF_ERROR(
      WriteFile(output, std::as_bytes(std::span(trace.text))));
  if (output == kStandardFile) return absl::OkStatus();
  return PrintResult(parsed,
                     {{"file", output},
                      {"nodes", trace.nodes},
                      {"tasks", trace.tasks},
                      {"transfers", trace.transfers},
                      {"left_out", trace.left_out},
                      {"silent", trace.silent}},
                     Summary(trace, output));
}

}  // namespace

int TraceCommand(int argc, char** argv) {
  cxxopts::Options options(
      "hoplite trace",
      "Writes which tasks the cluster has run lately, when and where, and what "
      "was moved\nbetween its nodes meanwhile, in Chrome's trace format.");
  options.custom_help("-o FILE [OPTION…]");
  AddOutputOption(options);
  AddClientOptions(options);
  return RunCommand(options, argc, argv, Trace);
}

}  // namespace hoplite::cli
