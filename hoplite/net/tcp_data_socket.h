// The system calls of the data plane's sockets, with its options set.
//
// Thread safety: thread-safe.
// Units: bytes.

#ifndef HOPLITE_NET_TCP_DATA_SOCKET_H_
#define HOPLITE_NET_TCP_DATA_SOCKET_H_

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <span>

#include "absl/status/statusor.h"
#include "hoplite/net/tcp_data_address.h"

namespace hoplite {

// Raises the soft limit of open files to the hard one.
void RaiseDescriptorLimit();

// A non-blocking socket that listens, on the first endpoint that can. An
// address of all IPv6 interfaces takes IPv4 too, and stands for all IPv4
// interfaces where the kernel has no IPv6.
// Errors: kUnavailable: none of them can, with each reason.
absl::StatusOr<int> OpenListener(const HostPort& address);
// Where a socket listens.
Endpoint LocalEndpoint(int descriptor);

struct AcceptResult {
  int descriptor = -1;     // -1: none now
  bool exhausted = false;  // for want of descriptors or memory
};
// Never blocks.
AcceptResult Accept(int listener);

// A non-blocking socket on its way to the endpoint; it is writable when that
// is decided. -1: it cannot even begin.
int StartConnect(const Endpoint& endpoint);
// The outcome, once writable: 0, or the error.
int ConnectError(int descriptor);

// How many bytes went, 0 where none can now, -1 where the connection is
// broken or, in Receive, at its end.
std::ptrdiff_t Receive(int descriptor, std::span<iovec> parts);
std::ptrdiff_t Send(int descriptor, std::span<iovec> parts);

// Lets the kernel hold a frame of this size, and at least kUnsentBytes, beyond
// what is on its way.
void AllowUnsent(int descriptor, std::size_t frame_bytes);

}  // namespace hoplite

#endif  // HOPLITE_NET_TCP_DATA_SOCKET_H_
