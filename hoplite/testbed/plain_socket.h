// Plain blocking TCP sockets, for measurements that need nothing between
// them and the kernel.
//
// Thread safety: thread-safe; one reader and one writer for each socket.

#ifndef HOPLITE_TESTBED_PLAIN_SOCKET_H_
#define HOPLITE_TESTBED_PLAIN_SOCKET_H_

#include <cstddef>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "hoplite/testbed/descriptor.h"

namespace hoplite::testbed {

// Listens on a free port of all addresses.
//
// Errors: kUnavailable.
absl::StatusOr<Descriptor> ListenOnFreePort();

// Errors: kInternal where it is no socket with a port.
absl::StatusOr<int> PortOf(const Descriptor& socket);

// Errors: kDeadlineExceeded, kUnavailable.
absl::StatusOr<Descriptor> AcceptConnection(const Descriptor& listener,
                                            absl::Time deadline);

// `host` is a name or an address of either family. Without delay of small
// messages.
//
// Errors: kNotFound for a name that does not resolve, kUnavailable.
absl::StatusOr<Descriptor> ConnectTo(absl::string_view host, int port);

// Blocks until the kernel has taken all.
//
// Errors: kUnavailable where the peer is gone.
absl::Status SendAll(const Descriptor& socket, std::span<const std::byte> data);

// Blocks until there is something; 0 at the end of the stream.
//
// Errors: kUnavailable where the peer is gone.
absl::StatusOr<std::size_t> ReceiveSome(const Descriptor& socket,
                                        std::span<std::byte> data);

// Fills `data`.
//
// Errors: kUnavailable where the peer is gone or the stream ends before.
absl::Status ReceiveAll(const Descriptor& socket, std::span<std::byte> data);

// What this connection uses; empty where the kernel does not tell.
std::string CongestionControlOf(const Descriptor& socket);

}  // namespace hoplite::testbed

#endif  // HOPLITE_TESTBED_PLAIN_SOCKET_H_
