#include <cstddef>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "hoplite/base/status_macros.h"
#include "hoplite/cli/command_line.h"
#include "hoplite/cli/commands.h"

namespace hoplite::cli {
namespace {

constexpr char kProgram[] = "hoplite delete";

absl::Status Delete(const cxxopts::ParseResult& parsed) {
  HOPLITE_ASSIGN_OR_RETURN(
      const std::vector<std::string> texts,
      Positionals(parsed, 1, std::numeric_limits<std::size_t>::max(),
                  "the ID of each object to delete"));
  HOPLITE_ASSIGN_OR_RETURN(const absl::Time deadline, DeadlineOf(parsed));
  std::vector<ObjectId> ids;
  for (const std::string& text : texts) {
    HOPLITE_ASSIGN_OR_RETURN(const ObjectId id, ParseId(text));
    ids.push_back(id);
  }
  HOPLITE_ASSIGN_OR_RETURN(const std::unique_ptr<Client> client,
                           ConnectClient(parsed, deadline));
  const absl::Duration timeout = TimeLeft(deadline);
  std::vector<Future<void>> deleted;
  for (const ObjectId& id : ids) {
    deleted.push_back(client->DeleteAsync(id, {.timeout = timeout}));
  }
  absl::Status first_error;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const absl::Status status = deleted[i].Get();
    nlohmann::ordered_json json = {{"id", ids[i].ToHex()},
                                   {"deleted", status.ok()}};
    if (status.ok()) {
      HOPLITE_RETURN_IF_ERROR(
          PrintResult(parsed, json, absl::StrCat(ids[i].ToHex(), " deleted")));
    } else {
      ReportError(kProgram, status, parsed.count("json") > 0, std::move(json));
      first_error.Update(AsReported(status));
    }
  }
  return first_error;
}

}  // namespace

int DeleteCommand(int argc, char** argv) {
  cxxopts::Options options(
      kProgram,
      "Deletes objects: when it returns, no node serves them any more. With "
      "several\nIDs the others are deleted where one cannot be.");
  options.custom_help("ID… [OPTION…]").positional_help("");
  AddClientOptions(options);
  return RunCommand(options, argc, argv, Delete);
}

}  // namespace hoplite::cli
