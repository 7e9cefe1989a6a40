#include "apps/parameter_server/options.h"

#include <algorithm>
#include <limits>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "apps/parameter_server/models.h"
#include "hoplite/base/status_macros.h"
#include "hoplite/cli/command_line.h"

namespace hoplite::apps {
namespace {

constexpr std::uint64_t kWorkersMax = 1000;
constexpr std::uint64_t kIterationsMax = 1'000'000'000;
constexpr double kAmountMax = 1e9;
// A mean of gradients, times this, is a step that learns well.
constexpr float kDigitsStep = 0.5f;
// The paper's sums are whole numbers, and so are its weights then.
constexpr float kPaperRate = 1;
constexpr int kDigitsIterations = 1000;
constexpr int kPaperIterations = 56;
// The paper drops its first six steps.
constexpr int kPaperWarmUp = 6;

// A number from `least` to kAmountMax.
absl::StatusOr<double> AmountOf(const cxxopts::ParseResult& parsed,
                                const std::string& name, double least) {
  const std::string text = cli::TextOf(parsed, name);
  double amount = 0;
  if (absl::SimpleAtod(text, &amount) && amount >= least &&
      amount <= kAmountMax) {
    return amount;
  }
  return cli::UsageError(absl::StrCat("--", name, " is a number from ", least,
                                      " on, and \"", text, "\" is none"));
}

absl::StatusOr<int> CountOf(const cxxopts::ParseResult& parsed,
                            const std::string& name, int otherwise) {
  if (parsed.count(name) == 0) return otherwise;
  HOPLITE_ASSIGN_OR_RETURN(const std::uint64_t count,
                           cli::NumberOf(parsed, name, kIterationsMax));
  return static_cast<int>(count);
}

// Which of two words an option has.
absl::StatusOr<bool> IsFirst(const cxxopts::ParseResult& parsed,
                             const std::string& name, absl::string_view first,
                             absl::string_view second) {
  const std::string word = parsed[name].as<std::string>();
  if (word == first || word == second) return word == first;
  return cli::UsageError(absl::StrCat("--", name, " is ", first, " or ", second,
                                      ", and not \"", word, "\""));
}

absl::Status SetWorkload(const cxxopts::ParseResult& parsed, Options& options) {
  HOPLITE_ASSIGN_OR_RETURN(options.workload.digits,
                           IsFirst(parsed, "workload", "digits", "paper"));
  options.workload.batch = kBatchSamples;
  if (options.workload.digits) return absl::OkStatus();
  const auto model = FindModel(parsed["model"].as<std::string>());
  if (!model.ok()) return cli::AsUsageError(model.status());
  options.model = std::string(model->name);
  double scale = kPaperScale;
  if (parsed.count("scale") > 0) {
    HOPLITE_ASSIGN_OR_RETURN(scale, AmountOf(parsed, "scale", 1));
  }
  options.workload.elements = ScaledElements(*model, scale);
  options.workload.compute_ms = model->compute_ms;
  if (parsed.count("compute-ms") > 0) {
    HOPLITE_ASSIGN_OR_RETURN(options.workload.compute_ms,
                             AmountOf(parsed, "compute-ms", 0));
  }
  return absl::OkStatus();
}

absl::Status SetTeam(const cxxopts::ParseResult& parsed, Options& options) {
  HOPLITE_ASSIGN_OR_RETURN(const bool async,
                           IsFirst(parsed, "mode", "async", "sync"));
  options.mode = async ? Mode::kAsync : Mode::kSync;
  HOPLITE_ASSIGN_OR_RETURN(options.workers,
                           cli::NumberOf(parsed, "workers", kWorkersMax));
  if (options.workers == 0) return cli::UsageError("--workers is at least 1");
  options.quorum = std::max<std::size_t>(1, options.workers / 2);
  if (parsed.count("quorum") > 0) {
    HOPLITE_ASSIGN_OR_RETURN(options.quorum,
                             cli::NumberOf(parsed, "quorum", kWorkersMax));
  }
  if (!async) options.quorum = options.workers;
  if (options.quorum == 0 || options.quorum > options.workers) {
    return cli::UsageError(absl::StrCat(
        "--quorum is from 1 to the number of workers, ", options.workers));
  }
  options.hosts =
      absl::StrSplit(cli::TextOf(parsed, "hosts"), ',', absl::SkipEmpty());
  options.server_host = cli::TextOf(parsed, "server-host");
  return absl::OkStatus();
}

absl::Status SetLength(const cxxopts::ParseResult& parsed, Options& options) {
  const bool digits = options.workload.digits;
  if (parsed.count("seconds") > 0) {
    HOPLITE_ASSIGN_OR_RETURN(const double seconds,
                             AmountOf(parsed, "seconds", 0));
    options.seconds = absl::Seconds(seconds);
  } else {
    options.iterations = digits ? kDigitsIterations : kPaperIterations;
  }
  HOPLITE_ASSIGN_OR_RETURN(options.iterations,
                           CountOf(parsed, "iterations", options.iterations));
  HOPLITE_ASSIGN_OR_RETURN(
      options.warm_up, CountOf(parsed, "warmup", digits ? 0 : kPaperWarmUp));
  options.rate =
      digits ? kDigitsStep / static_cast<float>(options.quorum) : kPaperRate;
  if (parsed.count("rate") > 0) {
    HOPLITE_ASSIGN_OR_RETURN(const double rate, AmountOf(parsed, "rate", 0));
    options.rate = static_cast<float>(rate);
  }
  return absl::OkStatus();
}

}  // namespace

std::string Options::HostOf(std::size_t worker, std::size_t failures) const {
  if (hosts.empty()) return "";
  // It may have been the process that failed: the host has a second chance.
  const std::size_t moves = failures / 2;
  return hosts[(worker + moves) % hosts.size()];
}

void AddOptions(cxxopts::Options& options) {
  const auto text = [] { return cxxopts::value<std::string>(); };
  options.add_options()(
      "mode",
      "async: each update sums the first gradients that are ready; "
      "sync: all of them, by an allreduce",
      text()->default_value("async"), "MODE")(
      "workload", "digits: really learn; paper: its sizes and times, Figure 9",
      text()->default_value("digits"),
      "WHAT")("workers", "How many", text()->default_value("7"), "N")(
      "quorum", "Gradients of an update (default: half of the workers)", text(),
      "A")("rate", "Learning rate, of the sum of gradients", text(), "RATE")(
      "model", "Of --workload=paper: alexnet, vgg16 or resnet50",
      text()->default_value("alexnet"), "NAME")(
      "scale", "Divides the model's size (default: 38.76, for 250 Mbit/s)",
      text(),
      "X")("compute-ms", "A gradient's time (default: a V100's; see models.cc)",
           text(),
           "MS")("iterations",
                 "Updates, with the warm-up (default: 1000, of the paper 56)",
                 text(), "N")("seconds", "End after so long", text(), "S")(
      "warmup", "Updates that are not timed (default: 0, of the paper 6)",
      text(), "N")("hosts", "Where workers run, in turn", text(), "NAME,NAME…")(
      "server-host", "Where the server's steps run (default: here)", text(),
      "NAME")("curves", "Write loss and accuracy against time", text(),
              "FILE.csv")("checkpoint",
                          "Go on from these weights, and keep the newest here",
                          text(), "FILE");
  cli::AddJsonOption(options);
}

absl::StatusOr<Options> OptionsOf(const cxxopts::ParseResult& parsed) {
  HOPLITE_RETURN_IF_ERROR(cli::Positionals(parsed, 0, 0, "").status());
  Options options;
  HOPLITE_RETURN_IF_ERROR(SetWorkload(parsed, options));
  HOPLITE_RETURN_IF_ERROR(SetTeam(parsed, options));
  HOPLITE_RETURN_IF_ERROR(SetLength(parsed, options));
  options.curves = cli::TextOf(parsed, "curves");
  options.checkpoint = cli::TextOf(parsed, "checkpoint");
  return options;
}

}  // namespace hoplite::apps
