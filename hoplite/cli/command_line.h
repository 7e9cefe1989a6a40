// What every command of `hoplite` shares: finding the node, results as text or
// as JSON, exit codes, errors that say what to do.
//
// A result is a line for people or, with --json, one JSON object on a line of
// standard output. An error is a line of standard error; with --json it is a
// result, too: {"error": "…", "code": "NOT_FOUND"}.
//
// Thread safety: thread-safe.

#ifndef HOPLITE_CLI_COMMAND_LINE_H_
#define HOPLITE_CLI_COMMAND_LINE_H_

#include <cstddef>
#include <cstdint>
#include <cxxopts.hpp>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "hoplite/api/hoplite.h"
#include "hoplite/base/id.h"
#include "hoplite/core/config.h"

namespace hoplite::cli {

inline constexpr int kExitDone = 0;
inline constexpr int kExitFailed = 1;
inline constexpr int kExitUsage = 2;
inline constexpr int kExitNoNode = 3;
inline constexpr int kExitDeadline = 4;
inline constexpr int kExitGone = 5;
inline constexpr int kExitExists = 6;
inline constexpr int kExitNoRoom = 7;

// The exit code that stands for the error, and all of them in words.
int ExitCode(const absl::Status& status);
absl::string_view ExitCodesHelp();

// An error of the command line itself, whatever its code.
absl::Status UsageError(absl::string_view message);
absl::Status AsUsageError(absl::Status status);
// An error because of which there is no node, whatever its code.
absl::Status AsNoNodeError(absl::Status status);
// An error that ReportError has told already.
absl::Status AsReported(absl::Status status);

using CommandBody = std::function<absl::Status(const cxxopts::ParseResult&)>;

// Parses argv with `options`, answers --help, and runs `body` with what was
// parsed; prints its error ("hoplite put: …") and returns the exit code.
int RunCommand(cxxopts::Options& options, int argc, char** argv,
               const CommandBody& body);
// Prints an error of `program`; with `json`, an object with `fields`, too.
void ReportError(absl::string_view program, const absl::Status& status,
                 bool json, nlohmann::ordered_json fields = {});
// Errors: kFailedPrecondition: standard output took not all that was printed.
absl::Status FlushOutput();

// --json alone; or, for commands that have a node do something, with --node
// and --timeout.
void AddJsonOption(cxxopts::Options& options);
void AddClientOptions(cxxopts::Options& options);
// -o FILE, for commands whose result is bytes.
void AddOutputOption(cxxopts::Options& options);
// Errors: a usage error where bytes and JSON would both go to standard output.
absl::Status CheckOutput(const cxxopts::ParseResult& parsed,
                         absl::string_view output);

absl::StatusOr<absl::Duration> TimeoutOf(const cxxopts::ParseResult& parsed);
// --timeout from now on, and what is left of it: at least nothing.
absl::StatusOr<absl::Time> DeadlineOf(const cxxopts::ParseResult& parsed);
absl::Duration TimeLeft(absl::Time deadline);
// The node of --node, else $HOPLITE_NODE, else the only one on this host.
absl::StatusOr<std::unique_ptr<Client>> ConnectClient(
    const cxxopts::ParseResult& parsed, absl::Time deadline);
// Of --schedule. Errors: a usage error that names the schedules.
absl::StatusOr<Schedule> ScheduleOf(const cxxopts::ParseResult& parsed);

// The arguments that are no options, of which there must be `least` to `most`.
// Errors: a usage error that says "give …".
absl::StatusOr<std::vector<std::string>> Positionals(
    const cxxopts::ParseResult& parsed, std::size_t least, std::size_t most,
    absl::string_view give);
// The text of an option; empty where it was not given.
std::string TextOf(const cxxopts::ParseResult& parsed,
                   const std::string& option);
// The whole number of an option that was given, or has a default.
// Errors: a usage error, naming the option.
absl::StatusOr<std::uint64_t> NumberOf(const cxxopts::ParseResult& parsed,
                                       const std::string& option,
                                       std::uint64_t most);
// The id that a person wrote. Errors: a usage error for an empty one.
absl::StatusOr<ObjectId> ParseId(absl::string_view text);

// One result: the object with --json, else the text. Errors: as FlushOutput.
absl::Status PrintResult(const cxxopts::ParseResult& parsed,
                         const nlohmann::ordered_json& json,
                         absl::string_view text);

}  // namespace hoplite::cli

#endif  // HOPLITE_CLI_COMMAND_LINE_H_
