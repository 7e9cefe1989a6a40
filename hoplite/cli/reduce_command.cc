#include <sys/random.h>

#include <csignal>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "hoplite/base/check.h"
#include "hoplite/base/reduction.h"
#include "hoplite/base/status_macros.h"
#include "hoplite/cli/command_line.h"
#include "hoplite/cli/commands.h"
#include "hoplite/cli/files.h"
#include "hoplite/cli/undo_at_signal.h"
#include "hoplite/core/config.h"

namespace hoplite::cli {
namespace {

// For a result that nobody will ask for again.
constexpr absl::Duration kDeleteTimeout = absl::Seconds(5);

struct Request {
  absl::Time deadline;
  ObjectId target;
  bool keeps_target = false;  // it was named, so somebody may want it
  std::vector<ObjectId> sources;
  ReduceOptions options;
  std::string output;
};

ObjectId RandomId() {
  ObjectId::Bytes bytes;
  HOPLITE_CHECK(getrandom(bytes.data(), bytes.size(), 0) ==
                static_cast<ssize_t>(bytes.size()));
  return ObjectId(bytes);
}

absl::StatusOr<ReduceOptions> OptionsOf(const cxxopts::ParseResult& parsed) {
  ReduceOptions options;
  const std::string op = parsed["op"].as<std::string>();
  const std::optional<ReduceOp> known_op = ParseReduceOp(op);
  if (!known_op.has_value()) {
    return UsageError(absl::StrCat("\"", op,
                                   "\" is no operation: choose sum, "
                                   "prod, min, max, avg, band, bor or bxor"));
  }
  const std::string type = parsed["type"].as<std::string>();
  const std::optional<DataType> known_type = ParseDataType(type);
  if (!known_type.has_value()) {
    return UsageError(absl::StrCat("\"", type,
                                   "\" is no type: choose u8, i8, "
                                   "i32, i64, u32, u64, f16, bf16, f32 or "
                                   "f64"));
  }
  options.op = *known_op;
  options.type = *known_type;
  if (!Supports(options.op, options.type)) {
    return UsageError(
        absl::StrCat(op, " is for integers, and ", type, " is none"));
  }
  if (parsed.count("count") > 0) {
    HOPLITE_ASSIGN_OR_RETURN(const std::uint64_t count,
                             NumberOf(parsed, "count", kReduceSourcesMax));
    options.count = static_cast<std::uint32_t>(count);
  }
  return options;
}

absl::StatusOr<Request> RequestOf(const cxxopts::ParseResult& parsed) {
  Request request;
  HOPLITE_ASSIGN_OR_RETURN(
      const std::vector<std::string> texts,
      Positionals(parsed, 1, std::numeric_limits<std::size_t>::max(),
                  "the ID of each object to reduce"));
  for (const std::string& text : texts) {
    HOPLITE_ASSIGN_OR_RETURN(const ObjectId id, ParseId(text));
    request.sources.push_back(id);
  }
  HOPLITE_ASSIGN_OR_RETURN(request.deadline, DeadlineOf(parsed));
  HOPLITE_ASSIGN_OR_RETURN(request.options, OptionsOf(parsed));
  const std::uint32_t count = request.options.count.value_or(1);
  if (count == 0 || count > texts.size()) {
    return UsageError(absl::StrCat("--count must be 1 to ", texts.size(),
                                   ", the number of IDs"));
  }
  request.output = TextOf(parsed, "output");
  request.keeps_target = parsed.count("target") > 0;
  if (request.output.empty() && !request.keeps_target) {
    return UsageError(
        "say where the result goes: -o FILE, --target=ID, or "
        "both");
  }
  HOPLITE_RETURN_IF_ERROR(CheckOutput(parsed, request.output));
  if (!request.output.empty()) {
    HOPLITE_RETURN_IF_ERROR(CheckWritable(request.output));
  }
  request.target = RandomId();
  if (request.keeps_target) {
    HOPLITE_ASSIGN_OR_RETURN(request.target, ParseId(TextOf(parsed, "target")));
  }
  return request;
}

absl::Status Print(const cxxopts::ParseResult& parsed, const Request& request,
                   const ReduceResult& result, const Buffer& buffer) {
  nlohmann::ordered_json json = {{"target", request.target.ToHex()},
                                 {"bytes", buffer.size()},
                                 {"file", request.output},
                                 {"sources", nlohmann::json::array()}};
  for (const ObjectId& source : result.sources) {
    json["sources"].push_back(source.ToHex());
  }
  return PrintResult(
      parsed, json,
      absl::StrCat(request.target.ToHex(), " ", buffer.size(), " bytes, of ",
                   result.sources.size(), " objects"));
}

absl::Status RunRequest(Client& client, const cxxopts::ParseResult& parsed,
                        const Request& request) {
  ReduceOptions options = request.options;
  options.timeout = TimeLeft(request.deadline);
  const Future<ReduceResult> reduced =
      client.ReduceAsync(request.target, request.sources, options);
  // It fetches the target while that is being made. Before the Reduce it would
  // be told how an earlier one into the same target has failed.
  const Future<Buffer> target =
      client.GetAsync(request.target, {.timeout = options.timeout});
  HOPLITE_ASSIGN_OR_RETURN(const ReduceResult result, reduced.Get());
  HOPLITE_ASSIGN_OR_RETURN(const Buffer buffer, target.Get());
  if (!request.output.empty()) {
    HOPLITE_RETURN_IF_ERROR(WriteFile(request.output, buffer.bytes()));
  }
  if (request.output == kStandardFile) return absl::OkStatus();
  return Print(parsed, request, result, buffer);
}

// Nobody else knows its name: this ends a reduction that still waits, too.
absl::Status DeleteTarget(Client& client, const Request& request) {
  return client.Delete(request.target, {.timeout = kDeleteTimeout});
}

// By a connection of its own, whatever the other is doing.
void DeleteTargetAtSignal(const std::string& node, const Request& request) {
  const auto client = Client::Connect(node, {.timeout = kDeleteTimeout});
  if (client.ok()) DeleteTarget(**client, request).IgnoreError();
}

absl::Status Reduce(const cxxopts::ParseResult& parsed) {
  HOPLITE_ASSIGN_OR_RETURN(const Request request, RequestOf(parsed));
  UndoAtSignal::Watch();
  std::signal(SIGPIPE, SIG_IGN);  // who does not read on ends nothing
  HOPLITE_ASSIGN_OR_RETURN(const std::unique_ptr<Client> client,
                           ConnectClient(parsed, request.deadline));
  if (request.keeps_target) return RunRequest(*client, parsed, request);
  const UndoAtSignal undo([&, node = TextOf(parsed, "node")] {
    DeleteTargetAtSignal(node, request);
  });
  const absl::Status status = RunRequest(*client, parsed, request);
  const absl::Status deleted = DeleteTarget(*client, request);
  return status.ok() ? deleted : status;
}

}  // namespace

int ReduceCommand(int argc, char** argv) {
  cxxopts::Options options(
      "hoplite reduce",
      "Reduces objects of one size into one, element by element. They need not "
      "exist\nyet: it waits for them.");
  options.custom_help("ID… -o FILE [OPTION…]").positional_help("");
  options.add_options()(
      "op", "sum, prod, min, max, avg; of integers also band, bor, bxor",
      cxxopts::value<std::string>()->default_value("sum"), "OP")(
      "type", "Of an element: u8, i8, i32, i64, u32, u64, f16, bf16, f32, f64",
      cxxopts::value<std::string>()->default_value("f32"),
      "TYPE")("count", "Only the first K objects to be there (default: all)",
              cxxopts::value<std::string>(),
              "K")("target", "Keep the result in the cluster, under this id",
                   cxxopts::value<std::string>(), "ID");
  AddOutputOption(options);
  AddClientOptions(options);
  return RunCommand(options, argc, argv, Reduce);
}

}  // namespace hoplite::cli
