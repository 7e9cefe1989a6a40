#include <iostream>
#include <string>

#include "absl/strings/str_cat.h"
#include "hoplite/base/status_macros.h"
#include "hoplite/cli/command_line.h"
#include "hoplite/cli/commands.h"
#include "hoplite/cli/companion.h"
#include "hoplite/cli/status_text.h"
#include "hoplite/runtime/node_report.h"

namespace hoplite::cli {
namespace {

absl::Status Show(const cxxopts::ParseResult& parsed) {
  HOPLITE_RETURN_IF_ERROR(Positionals(parsed, 0, 0, "").status());
  HOPLITE_ASSIGN_OR_RETURN(const absl::Time deadline, DeadlineOf(parsed));
  HOPLITE_ASSIGN_OR_RETURN(const std::unique_ptr<Client> client,
                           ConnectClient(parsed, deadline));
  HOPLITE_ASSIGN_OR_RETURN(const NodeReport report,
                           client->Report({.timeout = TimeLeft(deadline)}));
  const bool json = parsed.count("json") > 0;
  std::string text = json ? ToJson(report) : StatusText(report);
  if (TheCompanion().report != nullptr) {
    // A node without one has nothing to add.
    const absl::StatusOr<std::string> tasks =
        TheCompanion().report(report.socket_path, deadline);
    if (tasks.ok() && json) {
      text.insert(text.size() - 1, absl::StrCat(",\"tasks\":", *tasks));
    } else if (tasks.ok()) {
      absl::StrAppend(&text, "\n", TheCompanion().text(*tasks));
    }
  }
  std::cout << text << std::endl;
  return absl::OkStatus();
}

}  // namespace

int StatusCommand(int argc, char** argv) {
  cxxopts::Options options(
      "hoplite status",
      "Shows the cluster's nodes and shards as one node knows them, and that "
      "node's\nown objects and transfers.");
  options.custom_help("[OPTION…]");
  AddClientOptions(options);
  return RunCommand(options, argc, argv, Show);
}

}  // namespace hoplite::cli
