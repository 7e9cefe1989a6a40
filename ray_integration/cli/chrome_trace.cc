#include "ray_integration/cli/chrome_trace.h"

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "hoplite/base/id.h"
#include "ray_integration/base/process_id.h"

namespace hoplite::task {
namespace {

using Json = nlohmann::json;

// Threads of transfers come behind those of workers.
constexpr std::uint64_t kTransferThread = 1000000000;

// A slice that an arrow may begin or end at.
struct Slice {
  std::uint32_t process = 0;
  std::uint64_t thread = 0;
  std::int64_t begun = 0;
  std::int64_t ended = 0;
};

absl::string_view NameOf(Outcome outcome) {
  switch (outcome) {
    case Outcome::kDone:
      return "done";
    case Outcome::kFailed:
      return "failed";
    case Outcome::kCancelled:
      return "cancelled";
    case Outcome::kLost:
      return "lost";
  }
  return "";
}

std::string NodeName(const NodeInfo& node) {
  const std::string name = ToString(node.node.node);
  return node.host.empty() ? name : absl::StrCat(name, " (", node.host, ")");
}

class Writer {
 public:
  explicit Writer(const std::vector<NodeTrace>& nodes) : nodes_(nodes) {}

  std::string Write() {
    FindStart();
    // Who makes what is known before who uses it.
    for (const NodeTrace& node : nodes_) AddTasks(node);
    for (const NodeTrace& node : nodes_) AddTransfers(node);
    for (const auto& [object, user] : uses_) AddArrow(object, user);
    std::stable_sort(
        events_.begin(), events_.end(),
        [](const Event& a, const Event& b) { return a.time < b.time; });
    std::vector<std::string> lines = std::move(names_);
    for (Event& event : events_) lines.push_back(std::move(event.text));
    return absl::StrCat("{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n",
                        absl::StrJoin(lines, ",\n"), "\n]}\n");
  }

 private:
  struct Event {
    std::int64_t time = 0;
    std::string text;
  };

  void FindStart() {
    start_ = INT64_MAX;
    for (const NodeTrace& node : nodes_) {
      for (const RanTask& task : node.tasks) {
        start_ = std::min(start_, task.span.begun);
      }
      for (const TransferSpan& transfer : node.transfers) {
        start_ = std::min(start_, transfer.begun);
      }
    }
  }

  double Micros(std::int64_t from, std::int64_t to) const {
    constexpr double kNanos = 1000;
    return static_cast<double>(to - from) / kNanos;
  }

  static std::string Text(const Json& json) {
    return json.dump(-1, ' ', false, Json::error_handler_t::replace);
  }

  void Name(absl::string_view what, const Slice& at, std::string name) {
    names_.push_back(Text({{"ph", "M"},
                           {"name", std::string(what)},
                           {"pid", at.process},
                           {"tid", at.thread},
                           {"args", {{"name", std::move(name)}}}}));
  }

  void AddSlice(const Slice& at, absl::string_view category,
                const std::string& name, Json arguments) {
    events_.push_back({at.begun, Text({{"ph", "X"},
                                       {"cat", std::string(category)},
                                       {"name", name},
                                       {"pid", at.process},
                                       {"tid", at.thread},
                                       {"ts", Micros(start_, at.begun)},
                                       {"dur", Micros(at.begun, at.ended)},
                                       {"args", std::move(arguments)}})});
  }

  void AddTasks(const NodeTrace& node) {
    const std::uint32_t process = node.node.node.node.value();
    Name("process_name", {.process = process}, NodeName(node.node));
    absl::flat_hash_map<WorkerNumber, std::string> workers;
    for (const auto& [worker, span] : node.tasks) {
      const Slice at{.process = process,
                     .thread = worker.value(),
                     .begun = span.begun,
                     .ended = std::max(span.begun, span.ended)};
      std::string& name = workers[worker];
      if (name.empty()) name = absl::StrCat("worker ", worker.value());
      if (span.creates) absl::StrAppend(&name, ", actor ", span.function);
      AddSlice(at, span.actor == ObjectId() ? "task" : "actor", span.function,
               ArgumentsOf(span));
      if (span.outcome == Outcome::kDone) makers_[span.result] = at;
      for (const ObjectId& input : span.inputs) uses_.emplace_back(input, at);
    }
    for (auto& [worker, name] : workers) {
      Name("thread_name", {.process = process, .thread = worker.value()},
           std::move(name));
    }
  }

  static Json ArgumentsOf(const TaskSpan& span) {
    Json arguments = {{"result", span.result.ToHex()},
                      {"attempt", span.attempt},
                      {"depth", span.depth},
                      {"caller", ToString(span.caller)},
                      {"outcome", std::string(NameOf(span.outcome))},
                      {"result_bytes", span.bytes}};
    Json& inputs = arguments["inputs"] = Json::array();
    for (const ObjectId& input : span.inputs) inputs.push_back(input.ToHex());
    if (span.actor != ObjectId()) arguments["actor"] = span.actor.ToHex();
    if (!span.error.empty()) arguments["error"] = span.error;
    return arguments;
  }

  void AddTransfers(const NodeTrace& node) {
    std::vector<const TransferSpan*> transfers;
    for (const TransferSpan& one : node.transfers) transfers.push_back(&one);
    std::stable_sort(transfers.begin(), transfers.end(),
                     [](const TransferSpan* a, const TransferSpan* b) {
                       return a->begun < b->begun;
                     });
    const std::uint32_t process = node.node.node.node.value();
    std::vector<std::int64_t> free_from;  // of each thread
    for (const TransferSpan* one : transfers) {
      std::size_t row = 0;
      while (row < free_from.size() && free_from[row] > one->begun) ++row;
      const Slice at{.process = process,
                     .thread = kTransferThread + row,
                     .begun = one->begun,
                     .ended = std::max(one->begun, one->ended)};
      if (row == free_from.size()) {
        free_from.push_back(0);
        Name("thread_name", at, row == 0 ? "transfers into this node" : "…");
      }
      free_from[row] = at.ended;
      AddSlice(at, "transfer",
               absl::StrCat("from ", ToString(one->server.node)),
               {{"object", one->object.ToHex()},
                {"bytes", one->bytes},
                {"input_of_reduction", one->is_input},
                {"outcome", one->failed ? "failed" : "done"}});
      uses_.emplace_back(one->object, at);
    }
  }

  // Only forward in time: clocks of two nodes may differ by more than it took.
  void AddArrow(const ObjectId& object, const Slice& user) {
    const auto maker = makers_.find(object);
    if (maker == makers_.end()) return;
    const Slice& from = maker->second;
    // A slice does not contain its own end.
    const std::int64_t leaves = std::max(from.begun, from.ended - 1);
    if (leaves > user.begun) return;
    const std::uint64_t id = ++last_arrow_;
    AddArrowEnd("s", id, from, leaves);
    AddArrowEnd("f", id, user, user.begun);
  }

  void AddArrowEnd(absl::string_view phase, std::uint64_t id, const Slice& at,
                   std::int64_t time) {
    Json event = {{"ph", std::string(phase)},
                  {"id", id},
                  {"cat", "use"},
                  {"name", "uses"},
                  {"pid", at.process},
                  {"tid", at.thread},
                  {"ts", Micros(start_, time)}};
    if (phase == "f") event["bp"] = "e";
    events_.push_back({time, Text(event)});
  }

  const std::vector<NodeTrace>& nodes_;
  std::int64_t start_ = 0;
  std::vector<std::string> names_;
  std::vector<Event> events_;
  absl::flat_hash_map<ObjectId, Slice> makers_;
  std::vector<std::pair<ObjectId, Slice>> uses_;
  std::uint64_t last_arrow_ = 0;
};

}  // namespace

std::string ChromeTrace(const std::vector<NodeTrace>& nodes) {
  return Writer(nodes).Write();
}

}  // namespace hoplite::task
