// Addresses of links: "unix:/path" and "host:port", as sockets take them.
//
// Not responsible for: making connections (connector.h).
// Thread safety: thread-safe.

#ifndef HOPLITE_RAY_INTEGRATION_LINK_SOCKET_ADDRESS_H_
#define HOPLITE_RAY_INTEGRATION_LINK_SOCKET_ADDRESS_H_

#include <sys/socket.h>

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "hoplite/runtime/socket_folder.h"

namespace hoplite::task {

struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t length = 0;

  const sockaddr* generic() const {
    return reinterpret_cast<const sockaddr*>(&storage);
  }
  bool is_unix() const { return storage.ss_family == AF_UNIX; }
};

enum class Purpose { kConnect, kListen };

// One at least, in the order in which to try them. The name of a host is
// looked up, which can block.
//
// Errors: kInvalidArgument for what is no address; kUnavailable for a name
// that nobody knows.
absl::StatusOr<std::vector<SocketAddress>> ResolveAddress(
    absl::string_view address, Purpose purpose);

struct Listening {
  FileDescriptor socket;  // does not block
  std::string address;    // with the real port
  std::string path;       // to remove when it ends; empty for TCP
};

// Errors: as Poller::Listen.
absl::StatusOr<Listening> ListenAt(absl::string_view address);

// A socket for `address`, which does not block and sends small frames at
// once; not connected.
//
// Errors: kResourceExhausted without free descriptors.
absl::StatusOr<FileDescriptor> MakeSocket(const SocketAddress& address);

// Small frames leave at once; nothing for a Unix socket.
void SendAtOnce(const FileDescriptor& socket);

}  // namespace hoplite::task

#endif  // HOPLITE_RAY_INTEGRATION_LINK_SOCKET_ADDRESS_H_
