#include "hoplite/cli/command_line.h"

#include <exception>
#include <iostream>
#include <optional>
#include <string>

#include "absl/strings/cord.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "hoplite/base/digest.h"
#include "hoplite/base/status_macros.h"
#include "hoplite/cli/amounts.h"
#include "hoplite/cli/bench_options.h"
#include "hoplite/cli/files.h"

namespace hoplite::cli {
namespace {

// Errors that their code does not tell from others carry one of these.
constexpr char kUsagePayload[] = "hoplite/usage";
constexpr char kNoNodePayload[] = "hoplite/no-node";

absl::Status Parse(cxxopts::Options& options, int argc, char** argv,
                   const CommandBody& body, bool& json) {
  try {
    const cxxopts::ParseResult parsed = options.parse(argc, argv);
    if (parsed.count("help") > 0) {
      std::cout << options.help() << "\n" << ExitCodesHelp() << std::flush;
      return absl::OkStatus();
    }
    json = parsed.count("json") > 0;
    return body(parsed);
  } catch (const std::exception& error) {  // cxxopts throws
    return UsageError(error.what());
  }
}

}  // namespace

int ExitCode(const absl::Status& status) {
  if (status.ok()) return kExitDone;
  if (status.GetPayload(kUsagePayload).has_value()) return kExitUsage;
  if (status.GetPayload(kNoNodePayload).has_value()) return kExitNoNode;
  switch (status.code()) {
    case absl::StatusCode::kInvalidArgument:
      return kExitUsage;
    case absl::StatusCode::kUnavailable:
      return kExitNoNode;
    case absl::StatusCode::kDeadlineExceeded:
      return kExitDeadline;
    case absl::StatusCode::kNotFound:
    case absl::StatusCode::kDataLoss:
      return kExitGone;
    case absl::StatusCode::kAlreadyExists:
      return kExitExists;
    case absl::StatusCode::kResourceExhausted:
      return kExitNoRoom;
    default:
      return kExitFailed;
  }
}

absl::string_view ExitCodesHelp() {
  return "Exit codes:\n"
         "  0  done\n"
         "  1  failed: the error says why\n"
         "  2  the command line is wrong, or asks for what cannot be\n"
         "  3  no node: none runs here, several do, or it cannot be reached,\n"
         "     cannot listen or cannot join\n"
         "  4  not done within --timeout\n"
         "  5  the object is deleted, or every copy of it is lost\n"
         "  6  the id is in use: put already, or another reduction's target\n"
         "  7  no room, or larger than the store\n";
}

absl::Status UsageError(absl::string_view message) {
  return AsUsageError(absl::InvalidArgumentError(message));
}

absl::Status AsUsageError(absl::Status status) {
  if (!status.ok()) status.SetPayload(kUsagePayload, absl::Cord());
  return status;
}

int RunCommand(cxxopts::Options& options, int argc, char** argv,
               const CommandBody& body) {
  options.add_options()("help", "Show this help");
  bool json = false;
  const absl::Status status = Parse(options, argc, argv, body, json);
  if (status.ok()) return kExitDone;
  if (json) {
    const nlohmann::ordered_json error = {
        {"error", std::string(status.message())},
        {"code", absl::StatusCodeToString(status.code())}};
    std::cout << error.dump() << std::endl;
  }
  std::cerr << options.program() << ": " << status.message() << "\n";
  if (status.GetPayload(kUsagePayload).has_value()) {
    std::cerr << "Try: " << options.program() << " --help\n";
  }
  return ExitCode(status);
}

void AddJsonOption(cxxopts::Options& options) {
  options.add_options()(
      "json", "Print each result, errors too, as one JSON object on a line");
}

void AddClientOptions(cxxopts::Options& options) {
  options.add_options()(
      "node",
      "The node's socket; else $HOPLITE_NODE, else the only node on this host",
      cxxopts::value<std::string>(),
      "SOCKET")("timeout", "Give up after this long",
                cxxopts::value<std::string>()->default_value("60s"), "TIME");
  AddJsonOption(options);
}

void AddOutputOption(cxxopts::Options& options) {
  options.add_options()("o,output", "Where the bytes go; - is standard output",
                        cxxopts::value<std::string>(), "FILE");
}

absl::Status CheckOutput(const cxxopts::ParseResult& parsed,
                         absl::string_view output) {
  if (output != kStandardFile || parsed.count("json") == 0) {
    return absl::OkStatus();
  }
  return UsageError(
      "--json and -o - would both write to standard output: name a file");
}

absl::StatusOr<std::unique_ptr<Client>> ConnectClient(
    const cxxopts::ParseResult& parsed) {
  auto client = Client::Connect(TextOf(parsed, "node"));
  if (client.ok()) return client;
  absl::Status status = client.status();
  status.SetPayload(kNoNodePayload, absl::Cord());
  return status;
}

absl::StatusOr<absl::Duration> TimeoutOf(const cxxopts::ParseResult& parsed) {
  absl::StatusOr<absl::Duration> timeout =
      ParseDuration(parsed["timeout"].as<std::string>());
  if (timeout.ok()) return timeout;
  return AsUsageError(timeout.status());
}

absl::StatusOr<Schedule> ScheduleOf(const cxxopts::ParseResult& parsed) {
  const std::string schedule = parsed["schedule"].as<std::string>();
  const std::optional<Schedule> known = ParseSchedule(schedule);
  if (known.has_value()) return *known;
  return UsageError(
      absl::StrCat("\"", schedule, "\" is no schedule: hoplite or plain"));
}

absl::StatusOr<std::vector<std::string>> Positionals(
    const cxxopts::ParseResult& parsed, std::size_t least, std::size_t most,
    absl::string_view give) {
  const std::vector<std::string>& arguments = parsed.unmatched();
  if (arguments.size() > most) {
    return UsageError(
        absl::StrCat("\"", arguments[most], "\" is one argument too many"));
  }
  if (arguments.size() < least) {
    return UsageError(absl::StrCat("give ", give));
  }
  return arguments;
}

std::string TextOf(const cxxopts::ParseResult& parsed,
                   const std::string& option) {
  return parsed.count(option) > 0 ? parsed[option].as<std::string>() : "";
}

absl::StatusOr<std::uint64_t> NumberOf(const cxxopts::ParseResult& parsed,
                                       const std::string& option,
                                       std::uint64_t most) {
  const std::string text = parsed[option].as<std::string>();
  std::uint64_t number = 0;
  if (absl::SimpleAtoi(text, &number) && number <= most) return number;
  return UsageError(absl::StrCat("--", option, " is a whole number up to ",
                                 most, ", and \"", text, "\" is none"));
}

absl::StatusOr<ObjectId> ParseId(absl::string_view text) {
  if (!text.empty()) return IdFromText(text);
  return UsageError(
      "an ID is 56 hexadecimal digits or any name; this one is empty");
}

void PrintResult(const cxxopts::ParseResult& parsed,
                 const nlohmann::ordered_json& json, absl::string_view text) {
  if (parsed.count("json") > 0) {
    std::cout << json.dump() << std::endl;
  } else {
    std::cout << text << std::endl;
  }
}

}  // namespace hoplite::cli
