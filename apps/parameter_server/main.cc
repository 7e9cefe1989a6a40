// Learns handwritten digits, or repeats the paper's experiment, with workers
// on many nodes: asynchronously with a parameter server, or synchronously.
//
//   hoplite start --head &
//   parameter_server --workers=4 --curves=curves.csv

#include <cxxopts.hpp>
#include <memory>
#include <nlohmann/json.hpp>

#include "absl/status/status.h"
#include "absl/strings/str_format.h"
#include "apps/parameter_server/async.h"
#include "apps/parameter_server/journal.h"
#include "apps/parameter_server/options.h"
#include "apps/parameter_server/sync.h"
#include "hoplite/base/status_macros.h"
#include "hoplite/cli/command_line.h"
#include "hoplite/cli/program.h"
#include "ray_integration/api/init.h"

namespace hoplite::apps {
namespace {

std::string Summary(const nlohmann::ordered_json& json) {
  std::string text = absl::StrFormat("%d updates, %.0f samples/s",
                                     json.at("updates").get<std::int64_t>(),
                                     json.at("samples_per_s").get<double>());
  if (json.contains("accuracy")) {
    absl::StrAppendFormat(&text, ", %.1f %% of the held-out digits right",
                          100 * json.at("accuracy").get<double>());
  }
  if (const int replaced = json.at("replaced").get<int>(); replaced > 0) {
    absl::StrAppendFormat(&text, ", %d workers replaced", replaced);
  }
  return text;
}

absl::Status Learn(const cxxopts::ParseResult& parsed) {
  HOPLITE_ASSIGN_OR_RETURN(const Options options, OptionsOf(parsed));
  HOPLITE_ASSIGN_OR_RETURN(const std::unique_ptr<Journal> journal,
                           Journal::Create(options));
  const auto learn =
      options.mode == Mode::kAsync ? LearnAsynchronously : LearnSynchronously;
  HOPLITE_ASSIGN_OR_RETURN(const task::ObjectRef<Floats> weights,
                           learn(options, *journal));
  HOPLITE_ASSIGN_OR_RETURN(const nlohmann::ordered_json json,
                           journal->Finish(weights));
  return cli::PrintResult(parsed, json, Summary(json));
}

}  // namespace
}  // namespace hoplite::apps

int main(int argc, char** argv) {
  // In a worker it does not return; else the command line is read first.
  const absl::Status started = hoplite::task::Init(argc, argv);
  hoplite::cli::PrepareProgram();
  cxxopts::Options options(
      "parameter_server",
      "Learns on the nodes of a cluster. Without --json it ends with a line "
      "for\npeople. The node is that of $HOPLITE_NODE, or the only one here.");
  hoplite::apps::AddOptions(options);
  const int code = hoplite::cli::RunCommand(
      options, argc, argv, [&](const cxxopts::ParseResult& parsed) {
        if (!started.ok()) return hoplite::cli::AsNoNodeError(started);
        return hoplite::apps::Learn(parsed);
      });
  if (started.ok()) hoplite::task::Shutdown();
  return code;
}
