// What a node says about itself, for people and programs.
//
// Thread safety: values; as safe as int.
// Units: bytes.

#ifndef HOPLITE_RUNTIME_NODE_REPORT_H_
#define HOPLITE_RUNTIME_NODE_REPORT_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "hoplite/core/node_status.h"

namespace hoplite {

// Since the node's start, unless "now" is said.
struct NodeCounters {
  std::uint64_t payload_bytes_sent = 0;      // of objects, by the data plane
  std::uint64_t payload_bytes_received = 0;  // verified
  std::uint64_t transfers_started = 0;       // pulls that this node made
  std::uint64_t pulls_served = 0;            // pulls that peers made here
  std::uint64_t checksum_errors = 0;
  std::uint64_t connections_open = 0;       // of the data plane, now
  std::uint64_t control_messages_sent = 0;  // to other nodes
  std::uint64_t inline_bytes_sent = 0;      // payloads in those messages
  std::uint64_t events_handled = 0;
  std::uint64_t requests_started = 0;
  std::uint64_t requests_failed = 0;   // answered with an error
  std::uint64_t store_bytes_used = 0;  // now
  std::uint64_t store_bytes_capacity = 0;
  std::uint64_t store_buffers = 0;      // now
  std::uint64_t clients_connected = 0;  // over the socket, now
};

struct NodeReport {
  NodeStatus status;
  NodeCounters counters;
  std::string control_address;  // what others join by, where it is the head
  std::string data_address;
  std::string agent_address;  // empty: nothing runs above the node
  std::string socket_path;    // empty: it serves no clients
  std::int64_t process = 0;
};

// One JSON object on one line; each field under its own name, ids as
// hexadecimal text, durations in seconds, the shards as runs that one node
// hosts under one epoch.
std::string ToJson(const NodeReport& report);
// The inverse. Errors: kInvalidArgument: not what ToJson makes.
absl::StatusOr<NodeReport> NodeReportFromJson(absl::string_view text);

}  // namespace hoplite

#endif  // HOPLITE_RUNTIME_NODE_REPORT_H_
