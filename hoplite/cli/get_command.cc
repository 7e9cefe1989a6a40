#include <string>

#include "absl/strings/str_cat.h"
#include "hoplite/base/status_macros.h"
#include "hoplite/cli/command_line.h"
#include "hoplite/cli/commands.h"
#include "hoplite/cli/files.h"
#include "hoplite/cli/undo_at_signal.h"

namespace hoplite::cli {
namespace {

absl::Status Get(const cxxopts::ParseResult& parsed) {
  HOPLITE_ASSIGN_OR_RETURN(const std::vector<std::string> ids,
                           Positionals(parsed, 1, 1, "the object's ID"));
  HOPLITE_ASSIGN_OR_RETURN(const ObjectId id, ParseId(ids[0]));
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
  HOPLITE_ASSIGN_OR_RETURN(const Buffer buffer,
                           client->Get(id, {.timeout = TimeLeft(deadline)}));
  HOPLITE_RETURN_IF_ERROR(WriteFile(output, buffer.bytes()));
  if (output == kStandardFile) return absl::OkStatus();
  return PrintResult(
      parsed, {{"id", id.ToHex()}, {"bytes", buffer.size()}, {"file", output}},
      absl::StrCat(id.ToHex(), " ", buffer.size(), " bytes to ", output));
}

}  // namespace

int GetCommand(int argc, char** argv) {
  cxxopts::Options options(
      "hoplite get",
      "Waits until the object is put and writes its bytes to a file, which "
      "appears\nonly when it is whole.");
  options.custom_help("ID -o FILE [OPTION…]").positional_help("");
  AddOutputOption(options);
  AddClientOptions(options);
  return RunCommand(options, argc, argv, Get);
}

}  // namespace hoplite::cli
