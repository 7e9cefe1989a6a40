// The data plane over TCP.
//
// One thread waits for all sockets of a node. A transfer is a connection,
// taken from a pool or opened, and costs nothing while nothing moves; what
// goes over it is drawn in hoplite/wire/frame.h.
//
// Not responsible for: anything that data_plane.h does not promise.
// Thread safety: thread-safe.

#ifndef HOPLITE_NET_TCP_DATA_H_
#define HOPLITE_NET_TCP_DATA_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "hoplite/net/data_plane.h"

namespace hoplite {

struct TcpDataOptions {
  // Where to listen: HOST:PORT; port 0 is any free one, [::] and 0.0.0.0 are
  // all interfaces.
  std::string listen_address = "127.0.0.1:0";
  // The host that others reach this node by; empty: the one listened on.
  std::string advertise_host;
};

// Listens at once; who connects waits until Start. Raises this process's soft
// limit of open files to its hard one.
// Errors: kInvalidArgument: the address is none, or all interfaces are
// listened on and no host is advertised. kUnavailable: it cannot listen there;
// says why.
absl::StatusOr<std::unique_ptr<DataPlane>> ListenTcpData(
    const TcpDataOptions& options);

}  // namespace hoplite

#endif  // HOPLITE_NET_TCP_DATA_H_
