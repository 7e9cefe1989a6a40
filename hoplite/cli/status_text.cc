#include "hoplite/cli/status_text.h"

#include <algorithm>
#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace hoplite::cli {
namespace {

double Mib(std::uint64_t bytes) {
  return static_cast<double>(bytes) / (1 << 20);
}

std::string Roles(const NodeReport& report, const Member& member) {
  std::string roles;
  // The head is the first node of its cluster.
  if (member.ref.node == NodeId(1)) roles = "head";
  if (member.ref == report.status.self) {
    absl::StrAppend(&roles, roles.empty() ? "" : ", ", "this node");
  }
  return roles;
}

void AppendNodes(const NodeReport& report, std::string& text) {
  std::map<NodeRef, int> shards;
  for (const ShardAssignment& shard : report.status.shards) {
    ++shards[shard.host];
  }
  absl::StrAppendFormat(&text, "%d nodes\n", report.status.members.size());
  absl::StrAppendFormat(&text, "  %-6s %-6s  %-28s %s\n", "node", "shards",
                        "address", "");
  for (const Member& member : report.status.members) {
    absl::StrAppendFormat(&text, "  %-6d %-6d  %-28s %s\n",
                          member.ref.node.value(), shards[member.ref],
                          member.control_address, Roles(report, member));
  }
}

void AppendObjects(const NodeReport& report, std::string& text) {
  const std::vector<LocalObjectStatus>& objects = report.status.objects;
  absl::StrAppendFormat(&text, "%d objects on this node\n", objects.size());
  if (objects.empty()) return;
  absl::StrAppendFormat(&text, "  %-56s %13s  %-10s %-7s %5s %5s\n", "id",
                        "bytes", "state", "from", "gets", "pulls");
  for (const LocalObjectStatus& object : objects) {
    absl::StrAppendFormat(&text, "  %-56s %13d  %-10s %-7s %5d %5d\n",
                          object.object.ToHex(), object.size, object.state,
                          object.server ? ToString(object.server.node) : "-",
                          object.gets, object.pulls);
  }
}

}  // namespace

std::string StatusText(const NodeReport& report) {
  std::string text;
  AppendNodes(report, text);
  const NodeCounters& counters = report.counters;
  std::uint64_t pulls = 0;
  for (const LocalObjectStatus& object : report.status.objects) {
    pulls += object.pulls;
  }
  absl::StrAppendFormat(
      &text,
      "on this node, %s\n"
      "  store      %.1f of %.1f MiB in %d buffers\n"
      "  directory  %d records in the shards hosted here\n"
      "  transfers  %d under way in, %d out; %d reductions coordinated\n"
      "  requests   %d waiting, %d started, %d failed\n"
      "  payload    %.1f MiB sent, %.1f MiB received\n"
      "  clients    %d at %s\n",
      ToString(report.status.self.node), Mib(counters.store_bytes_used),
      Mib(counters.store_bytes_capacity), counters.store_buffers,
      report.status.directory_records, report.status.transfers_under_way, pulls,
      report.status.reductions_under_way, report.status.requests_waiting,
      counters.requests_started, counters.requests_failed,
      Mib(counters.payload_bytes_sent + counters.inline_bytes_sent),
      Mib(counters.payload_bytes_received), counters.clients_connected,
      report.socket_path);
  AppendObjects(report, text);
  text.pop_back();  // the last line's end
  return text;
}

}  // namespace hoplite::cli
