#include "hoplite/runtime/node_report.h"

#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "hoplite/core/config.h"
#include "nlohmann/json.hpp"

namespace hoplite {
namespace {

using Json = nlohmann::ordered_json;

// Calls visit(name, field) for each counter.
template <typename Counters, typename Visit>
void ForEachCounter(Counters& counters, Visit visit) {
  visit("payload_bytes_sent", counters.payload_bytes_sent);
  visit("payload_bytes_received", counters.payload_bytes_received);
  visit("transfers_started", counters.transfers_started);
  visit("pulls_served", counters.pulls_served);
  visit("checksum_errors", counters.checksum_errors);
  visit("connections_open", counters.connections_open);
  visit("control_messages_sent", counters.control_messages_sent);
  visit("inline_bytes_sent", counters.inline_bytes_sent);
  visit("events_handled", counters.events_handled);
  visit("requests_started", counters.requests_started);
  visit("requests_failed", counters.requests_failed);
  visit("store_bytes_used", counters.store_bytes_used);
  visit("store_bytes_capacity", counters.store_bytes_capacity);
  visit("store_buffers", counters.store_buffers);
  visit("clients_connected", counters.clients_connected);
}

constexpr absl::string_view kPlainName = "plain";

Json ToJson(NodeRef ref) {
  return {{"node", ref.node.value()}, {"incarnation", ref.incarnation.value()}};
}
Json ToJson(const Member& member) {
  Json json = ToJson(member.ref);
  json["control_address"] = member.control_address;
  json["data_address"] = member.data_address;
  json["agent_address"] = member.agent_address;
  return json;
}
Json ToJson(const Generation& generation) {
  return {generation.node.value(), generation.era, generation.counter};
}

Json ToJson(const LocalObjectStatus& object) {
  Json json;
  json["object"] = object.object.ToHex();
  json["generation"] = ToJson(object.generation);
  json["size"] = object.size;
  json["state"] = object.state;
  json["server"] = ToJson(object.server);
  json["gets"] = object.gets;
  json["pulls"] = object.pulls;
  json["bytes"] = object.bytes;
  return json;
}
Json ToJson(const PositionStatus& position) {
  Json json;
  json["target"] = position.target.ToHex();
  json["position"] = position.position;
  json["root"] = position.root;
  json["inputs"] = Json::array();
  for (const NodeRef input : position.inputs) {
    json["inputs"].push_back(ToJson(input));
  }
  json["size"] = position.size;
  json["bytes"] = position.bytes;
  return json;
}

// Runs of shards with the same host and epoch.
Json ToJson(const std::vector<ShardAssignment>& shards) {
  Json runs = Json::array();
  for (std::size_t begin = 0; begin < shards.size();) {
    std::size_t end = begin + 1;
    while (end < shards.size() && shards[end].host == shards[begin].host &&
           shards[end].at.epoch == shards[begin].at.epoch) {
      ++end;
    }
    Json run = ToJson(shards[begin].host);
    run["first"] = begin;
    run["count"] = end - begin;
    run["epoch"] = shards[begin].at.epoch.value();
    runs.push_back(std::move(run));
    begin = end;
  }
  return runs;
}

// Reads fields of `json`; a field that is missing or of another kind makes
// ok() false and leaves its default.
class Reader {
 public:
  explicit Reader(const Json& json, bool* ok) : json_(json), ok_(ok) {}

  template <typename T>
  T Value(const char* name) const {
    const auto found = json_.find(name);
    if (found != json_.end()) return As<T>(*found);
    *ok_ = false;
    return T();
  }
  std::vector<Reader> Items(const char* name) const {
    std::vector<Reader> items;
    const auto found = json_.find(name);
    if (found == json_.end() || !found->is_array()) {
      *ok_ = false;
      return items;
    }
    for (const Json& item : *found) {
      *ok_ = *ok_ && item.is_object();
      items.emplace_back(item, ok_);
    }
    return items;
  }
  Reader Object(const char* name) const {
    static const Json empty = Json::object();
    const auto found = json_.find(name);
    if (found != json_.end() && found->is_object()) return Reader(*found, ok_);
    *ok_ = false;
    return Reader(empty, ok_);
  }

  ObjectId Id(const char* name) const {
    return ObjectId::FromHex(Value<std::string>(name)).value_or(ObjectId());
  }
  NodeRef Ref() const {
    return {.node = NodeId(Value<std::uint32_t>("node")),
            .incarnation = Incarnation(Value<std::uint64_t>("incarnation"))};
  }
  ::hoplite::Generation Generation(const char* name) const {
    const auto found = json_.find(name);
    if (found == json_.end() || !found->is_array() || found->size() != 3) {
      *ok_ = false;
      return {};
    }
    return {.node = NodeId(As<std::uint32_t>((*found)[0])),
            .era = As<std::uint64_t>((*found)[1]),
            .counter = As<std::uint64_t>((*found)[2])};
  }

 private:
  template <typename T>
  T As(const Json& value) const {
    bool fits = false;
    if constexpr (std::is_same_v<T, std::string>) {
      fits = value.is_string();
    } else if constexpr (std::is_same_v<T, bool>) {
      fits = value.is_boolean();
    } else {
      fits = value.is_number();
    }
    if (fits) return value.get<T>();
    *ok_ = false;
    return T();
  }

  const Json& json_;
  bool* const ok_;
};

LocalObjectStatus ReadObject(const Reader& reader) {
  LocalObjectStatus object;
  object.object = reader.Id("object");
  object.generation = reader.Generation("generation");
  object.size = reader.Value<std::uint64_t>("size");
  object.state = reader.Value<std::string>("state");
  object.server = reader.Object("server").Ref();
  object.gets = reader.Value<std::uint32_t>("gets");
  object.pulls = reader.Value<std::uint32_t>("pulls");
  object.bytes = reader.Value<std::uint64_t>("bytes");
  return object;
}

PositionStatus ReadPosition(const Reader& reader) {
  PositionStatus position;
  position.target = reader.Id("target");
  position.position = reader.Value<std::uint32_t>("position");
  position.root = reader.Value<bool>("root");
  for (const Reader& input : reader.Items("inputs")) {
    position.inputs.push_back(input.Ref());
  }
  position.size = reader.Value<std::uint64_t>("size");
  position.bytes = reader.Value<std::uint64_t>("bytes");
  return position;
}

std::vector<ShardAssignment> ReadShards(const Reader& reader) {
  std::vector<ShardAssignment> shards;
  for (const Reader& run : reader.Items("shards")) {
    const auto count = run.Value<std::uint32_t>("count");
    for (std::uint32_t i = 0; i < count && shards.size() < kShardCount; ++i) {
      shards.push_back(
          {.at = {.shard = ShardId(run.Value<std::uint32_t>("first") + i),
                  .epoch = Epoch(run.Value<std::uint64_t>("epoch"))},
           .host = run.Ref()});
    }
  }
  return shards;
}

NodeStatus ReadStatus(const Reader& reader) {
  NodeStatus status;
  status.self = reader.Object("self").Ref();
  status.is_head = reader.Value<bool>("is_head");
  if (reader.Value<std::string>("schedule") == kPlainName) {
    status.schedule = Schedule::kPlain;
  }
  for (const Reader& member : reader.Items("members")) {
    status.members.push_back(
        {.ref = member.Ref(),
         .control_address = member.Value<std::string>("control_address"),
         .data_address = member.Value<std::string>("data_address"),
         .agent_address = member.Value<std::string>("agent_address")});
  }
  status.shards = ReadShards(reader);
  for (const Reader& object : reader.Items("objects")) {
    status.objects.push_back(ReadObject(object));
  }
  for (const Reader& position : reader.Items("positions")) {
    status.positions.push_back(ReadPosition(position));
  }
  status.directory_records = reader.Value<std::uint64_t>("directory_records");
  status.requests_waiting = reader.Value<std::uint64_t>("requests_waiting");
  status.transfers_under_way =
      reader.Value<std::uint64_t>("transfers_under_way");
  status.reductions_under_way =
      reader.Value<std::uint64_t>("reductions_under_way");
  status.buffers_held = reader.Value<std::uint64_t>("buffers_held");
  status.latency = absl::Seconds(reader.Value<double>("latency"));
  status.bytes_per_second = reader.Value<double>("bytes_per_second");
  return status;
}

}  // namespace

std::string ToJson(const NodeReport& report) {
  const NodeStatus& status = report.status;
  Json json;
  json["self"] = ToJson(status.self);
  json["is_head"] = status.is_head;
  json["schedule"] =
      status.schedule == Schedule::kPlain ? kPlainName : "hoplite";
  json["control_address"] = report.control_address;
  json["data_address"] = report.data_address;
  json["agent_address"] = report.agent_address;
  json["socket_path"] = report.socket_path;
  json["process"] = report.process;
  json["members"] = Json::array();
  for (const Member& member : status.members) {
    json["members"].push_back(ToJson(member));
  }
  json["shards"] = ToJson(status.shards);
  json["objects"] = Json::array();
  for (const LocalObjectStatus& object : status.objects) {
    json["objects"].push_back(ToJson(object));
  }
  json["positions"] = Json::array();
  for (const PositionStatus& position : status.positions) {
    json["positions"].push_back(ToJson(position));
  }
  json["directory_records"] = status.directory_records;
  json["requests_waiting"] = status.requests_waiting;
  json["transfers_under_way"] = status.transfers_under_way;
  json["reductions_under_way"] = status.reductions_under_way;
  json["buffers_held"] = status.buffers_held;
  json["latency"] = absl::ToDoubleSeconds(status.latency);
  json["bytes_per_second"] = status.bytes_per_second;
  Json& counters = json["counters"];
  ForEachCounter(report.counters, [&](const char* name, std::uint64_t value) {
    counters[name] = value;
  });
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

absl::StatusOr<NodeReport> NodeReportFromJson(absl::string_view text) {
  const Json json = Json::parse(text.begin(), text.end(), nullptr,
                                /*allow_exceptions=*/false);
  bool ok = json.is_object();
  const Reader reader(json, &ok);
  NodeReport report;
  if (ok) {
    report.status = ReadStatus(reader);
    report.control_address = reader.Value<std::string>("control_address");
    report.data_address = reader.Value<std::string>("data_address");
    report.agent_address = reader.Value<std::string>("agent_address");
    report.socket_path = reader.Value<std::string>("socket_path");
    report.process = reader.Value<std::int64_t>("process");
    const Reader counters = reader.Object("counters");
    ForEachCounter(report.counters,
                   [&](const char* name, std::uint64_t& value) {
                     value = counters.Value<std::uint64_t>(name);
                   });
  }
  if (!ok) {
    return absl::InvalidArgumentError("the report of a node is not understood");
  }
  return report;
}

}  // namespace hoplite
