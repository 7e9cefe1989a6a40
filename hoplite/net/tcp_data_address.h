// Addresses of the data plane: from "host:port" to what a socket takes.
//
// A host is a name, an IPv4 address, or an IPv6 address in brackets, with its
// zone where it is a link's own: "node-3:7000", "10.0.0.3:7000",
// "[fe80::1%eth0]:7000".
//
// Thread safety: values; as safe as int. Functions are thread-safe.

#ifndef HOPLITE_NET_TCP_DATA_ADDRESS_H_
#define HOPLITE_NET_TCP_DATA_ADDRESS_H_

#include <sys/socket.h>

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace hoplite {

struct HostPort {
  std::string host;  // without brackets
  std::uint16_t port = 0;
};
// Errors: kInvalidArgument: it is no host and port; says how one is written.
absl::StatusOr<HostPort> ParseHostPort(absl::string_view text);
// The inverse: brackets around what has a colon.
std::string FormatHostPort(const HostPort& address);

// One address of a socket.
struct Endpoint {
  sockaddr_storage storage{};
  socklen_t length = 0;

  const sockaddr* address() const {
    return reinterpret_cast<const sockaddr*>(&storage);
  }
  sockaddr* mutable_address() { return reinterpret_cast<sockaddr*>(&storage); }
  std::uint16_t port() const;
  // As FormatHostPort, with the numeric address.
  std::string ToString() const;
};

enum class Resolution {
  kNumericOnly,  // never blocks; a name gives no endpoint
  kNames,        // may block for many seconds
};
// All endpoints of an address, those to be tried first in front.
// Errors: kUnavailable: there is none; names the address and the reason.
absl::StatusOr<std::vector<Endpoint>> Resolve(const HostPort& address,
                                              Resolution resolution);

}  // namespace hoplite

#endif  // HOPLITE_NET_TCP_DATA_ADDRESS_H_
