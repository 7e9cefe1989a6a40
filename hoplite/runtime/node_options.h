// What a node is started with.
//
// Addresses are HOST:PORT: names, IPv4, or IPv6 in brackets; port 0 takes a
// free one.
//
// Thread safety: values; as safe as int.
// Units: bytes.

#ifndef HOPLITE_RUNTIME_NODE_OPTIONS_H_
#define HOPLITE_RUNTIME_NODE_OPTIONS_H_

#include <cstdint>
#include <string>

#include "absl/time/time.h"
#include "hoplite/core/config.h"
#include "hoplite/runtime/membership_observer.h"

namespace hoplite {

struct NodeOptions {
  // The control port.
  std::string listen = "127.0.0.1:0";
  // The data plane's port; empty: a free one on the host of `listen`.
  std::string data_listen = "";
  // The host under which other nodes reach this one; empty: the host of
  // `listen` or, where that is a wildcard, this machine's on the way to the
  // head.
  std::string advertise = "";
  // HOST:PORT at which what runs above this node listens, told to all members
  // as Member::agent_address; a wildcard becomes the host under which they
  // reach this node. Empty: nothing does.
  std::string agent_address = "";
  // The head's HOST:PORT; empty: this node is the head of a new cluster.
  std::string join = "";
  // Joining fails after so long.
  absl::Duration join_timeout = absl::Seconds(30);
  // A member says that it lives this often, and counts as dead where it has not
  // been heard for so long; all nodes of a cluster alike.
  absl::Duration heartbeat_interval = absl::Seconds(1);
  absl::Duration dead_after = kDeadAfter;
  std::uint64_t store_bytes = std::uint64_t{1} << 30;
  // Whether workers may connect over a Unix socket, and its path; empty: a
  // path of its own in the folder where Client::Connect looks.
  bool serve_clients = false;
  std::string socket_path = "";
  // How receivers are given servers; all nodes of a cluster alike.
  Schedule schedule = Schedule::kHoplite;
  // Where the node's log is recorded, to be replayed; empty: nowhere.
  std::string record = "";
  // Is told who is a member; null: nobody is.
  MembershipObserver* membership_observer = nullptr;
};

}  // namespace hoplite

#endif  // HOPLITE_RUNTIME_NODE_OPTIONS_H_
