#include "hoplite/cli/command_line.h"

#include <algorithm>
#include <cerrno>
#include <exception>
#include <iostream>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/cord.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
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
constexpr char kReportedPayload[] = "hoplite/reported";

absl::Status With(absl::Status status, const char* payload) {
  if (!status.ok()) status.SetPayload(payload, absl::Cord());
  return status;
}

bool Has(const absl::Status& status, const char* payload) {
  return status.GetPayload(payload).has_value();
}

// Known before the words are parsed, as they may be wrong.
bool WantsJson(int argc, char** argv) {
  for (int i = 1; i < argc && absl::string_view(argv[i]) != "--"; ++i) {
    if (absl::string_view(argv[i]) == "--json") return true;
  }
  return false;
}

// A file's name may be no UTF-8, which JSON has to be.
std::string Line(const nlohmann::ordered_json& json) {
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

absl::Status RunParsed(cxxopts::Options& options, int argc, char** argv,
                       const CommandBody& body) {
  try {
    const cxxopts::ParseResult parsed = options.parse(argc, argv);
    if (parsed.count("help") > 0) {
      std::cout << options.help() << "\n" << ExitCodesHelp() << std::flush;
      return absl::OkStatus();
    }
    for (const cxxopts::KeyValue& option : parsed.arguments()) {
      if (!option.value().empty()) continue;
      return UsageError(absl::StrCat("--", option.key(), " is empty"));
    }
    return body(parsed);
  } catch (const std::exception& error) {  // cxxopts throws
    return UsageError(error.what());
  }
}

}  // namespace

int ExitCode(const absl::Status& status) {
  if (status.ok()) return kExitDone;
  if (Has(status, kUsagePayload)) return kExitUsage;
  if (Has(status, kNoNodePayload)) return kExitNoNode;
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
  return With(std::move(status), kUsagePayload);
}

absl::Status AsNoNodeError(absl::Status status) {
  return With(std::move(status), kNoNodePayload);
}

absl::Status AsReported(absl::Status status) {
  return With(std::move(status), kReportedPayload);
}

int RunCommand(cxxopts::Options& options, int argc, char** argv,
               const CommandBody& body) {
  options.add_options()("help", "Show this help");
  absl::Status status = RunParsed(options, argc, argv, body);
  if (status.ok()) status = FlushOutput();
  if (!status.ok() && !Has(status, kReportedPayload)) {
    ReportError(options.program(), status, WantsJson(argc, argv));
  }
  return ExitCode(status);
}

void ReportError(absl::string_view program, const absl::Status& status,
                 bool json, nlohmann::ordered_json fields) {
  if (json) {
    fields["error"] = std::string(status.message());
    fields["code"] = absl::StatusCodeToString(status.code());
    std::cout << Line(fields) << std::endl;
  }
  std::cerr << program << ": " << status.message() << "\n";
  if (Has(status, kUsagePayload)) {
    std::cerr << "Try: " << program << " --help\n";
  }
}

absl::Status FlushOutput() {
  errno = 0;
  std::cout.flush();
  if (std::cout.good()) return absl::OkStatus();
  return FileError(errno != 0 ? errno : EIO, "cannot write to standard output");
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

absl::StatusOr<absl::Time> DeadlineOf(const cxxopts::ParseResult& parsed) {
  HOPLITE_ASSIGN_OR_RETURN(const absl::Duration timeout, TimeoutOf(parsed));
  return absl::Now() + timeout;
}

absl::Duration TimeLeft(absl::Time deadline) {
  return std::max(deadline - absl::Now(), absl::ZeroDuration());
}

absl::StatusOr<std::unique_ptr<Client>> ConnectClient(
    const cxxopts::ParseResult& parsed, absl::Time deadline) {
  auto client =
      Client::Connect(TextOf(parsed, "node"), {.timeout = TimeLeft(deadline)});
  if (!client.ok()) {
    if (absl::IsDeadlineExceeded(client.status())) return client;
    return AsNoNodeError(client.status());
  }
  if (absl::Now() < deadline) return client;
  return absl::DeadlineExceededError(
      "--timeout has passed before anything could be done");
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

absl::Status PrintResult(const cxxopts::ParseResult& parsed,
                         const nlohmann::ordered_json& json,
                         absl::string_view text) {
  if (parsed.count("json") > 0) {
    std::cout << Line(json) << "\n";
  } else {
    std::cout << text << "\n";
  }
  return FlushOutput();
}

}  // namespace hoplite::cli
