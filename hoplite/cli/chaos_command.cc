// `hoplite chaos`.

#include <limits>
#include <memory>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/time.h"
#include "hoplite/base/status_macros.h"
#include "hoplite/cli/amounts.h"
#include "hoplite/cli/chaos.h"
#include "hoplite/cli/chaos_options.h"
#include "hoplite/cli/chaos_result.h"
#include "hoplite/cli/command_line.h"
#include "hoplite/cli/commands.h"

namespace hoplite::cli {
namespace {

constexpr double kMinutesMax = 10'000;

absl::StatusOr<absl::Duration> MinutesOf(const cxxopts::ParseResult& parsed) {
  const std::string text = parsed["minutes"].as<std::string>();
  double minutes = 0;
  if (absl::SimpleAtod(text, &minutes) && minutes > 0 &&
      minutes <= kMinutesMax) {
    return absl::Minutes(minutes);
  }
  return UsageError(
      absl::StrCat("--minutes is a number above 0, like 20 or "
                   "0.5, and \"",
                   text, "\" is none"));
}

absl::StatusOr<ChaosOptions> OptionsOf(const cxxopts::ParseResult& parsed) {
  HOPLITE_RETURN_IF_ERROR(Positionals(parsed, 0, 0, "").status());
  ChaosOptions options;
  constexpr std::uint64_t kNodesMax = 1000;  // less are possible: see Validate
  HOPLITE_ASSIGN_OR_RETURN(const std::uint64_t nodes,
                           NumberOf(parsed, "nodes", kNodesMax));
  options.nodes = static_cast<int>(nodes);
  const auto rate = ParseBitRate(parsed["link"].as<std::string>());
  if (!rate.ok()) return AsUsageError(rate.status());
  options.link_bits_per_second = *rate;
  HOPLITE_ASSIGN_OR_RETURN(options.length, MinutesOf(parsed));
  HOPLITE_ASSIGN_OR_RETURN(
      options.seed,
      NumberOf(parsed, "seed", std::numeric_limits<std::uint64_t>::max()));
  const auto faults = ParseChaosFaults(parsed["faults"].as<std::string>());
  if (!faults.ok()) return AsUsageError(faults.status());
  options.faults = *faults;
  options.daemon = parsed.count("daemon") > 0;
  options.verbose = parsed.count("verbose") > 0;
  HOPLITE_RETURN_IF_ERROR(AsUsageError(Validate(options)));
  return options;
}

absl::Status RunChaos(const cxxopts::ParseResult& parsed) {
  HOPLITE_ASSIGN_OR_RETURN(const ChaosOptions options, OptionsOf(parsed));
  HOPLITE_ASSIGN_OR_RETURN(const std::unique_ptr<Chaos> chaos,
                           Chaos::Create(options));
  HOPLITE_ASSIGN_OR_RETURN(const ChaosResult result, chaos->Run());
  HOPLITE_RETURN_IF_ERROR(
      PrintResult(parsed, ToJson(result), ChaosText(result)));
  if (result.good()) return absl::OkStatus();
  return AsReported(absl::InternalError(absl::StrFormat(
      "%d hangs, %d wrong bytes, %d wrong ends, %d leaked", result.hangs,
      result.wrong_bytes, result.wrong_ends, result.leaks.size())));
}

constexpr char kAbout[] =
    "Runs broadcasts, reductions and allreductions of 64 KiB to 8 MiB on "
    "emulated\nhosts, hits the hosts with faults that are drawn by seed and "
    "may overlap, and\nchecks every byte and every end of a call against a "
    "model. The faults:\n"
    "  kill     SIGKILL; started again after 1 to 5 s, at another port\n"
    "  restart  SIGKILL; started again at once, at the same port\n"
    "  stop     SIGSTOP; woken after 0.1 to 10 s\n"
    "  cut      the host's link is down for as long\n"
    "  head     SIGKILL of the head; started again within 2 s, where it was\n"
    "A silent node counts as dead after 1 s. Printed are, for each, how many "
    "there\nwere and the time until the operation in hand was done, beside the "
    "time of an\noperation without a fault; then what should be 0:\n"
    "  hangs        calls that end past their deadline, 30 s after the "
    "operation began\n"
    "  wrong bytes  of what was got, or which reductions say went in\n"
    "  wrong ends   statuses that no fault explains\n"
    "  leaked       at the end: objects, memory, directory entries, open "
    "files\n"
    "The exit code is 1 where one of them is not.";

}  // namespace

int ChaosCommand(int argc, char** argv) {
  cxxopts::Options options("hoplite chaos", kAbout);
  options.custom_help("[OPTION…]");
  const auto text = [](const char* value) {
    return cxxopts::value<std::string>()->default_value(value);
  };
  options.add_options()("nodes", "Hosts, with a node on each: 4 to 64",
                        text("16"), "N")("link", "The rate of each host's link",
                                         text("250mbit"), "RATE")(
      "minutes", "How long, without start and end", text("20"), "M")(
      "seed", "Of operations and faults", text("1"), "S")(
      "faults", "Which faults", text("kill,stop,restart,cut,head"), "NAMES")(
      "daemon",
      "A hoplited and a worker on each host, not embedded nodes; "
      "faults hit the hoplited")(
      "v,verbose", "Faults, complaints and the nodes' logs on standard error");
  AddJsonOption(options);
  return RunCommand(options, argc, argv, RunChaos);
}

}  // namespace hoplite::cli
