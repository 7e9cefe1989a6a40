// Endpoints are what "host:port" stands for: addresses that a socket takes.
//
// Thread safety: values; as safe as int. Functions are thread-safe.

#ifndef HOPLITE_NET_TCP_DATA_ADDRESS_H_
#define HOPLITE_NET_TCP_DATA_ADDRESS_H_

#include <sys/socket.h>

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "hoplite/net/host_port.h"

namespace hoplite {

// One address of a socket.
struct Endpoint {
  sockaddr_storage storage{};
  socklen_t length = 0;

  const sockaddr* address() const {
    return reinterpret_cast<const sockaddr*>(&storage);
  }
  sockaddr* mutable_address() { return reinterpret_cast<sockaddr*>(&storage); }
  std::uint16_t port() const;
  // As HostPort::ToString, with the numeric address.
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
