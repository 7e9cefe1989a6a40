// Takes "host:port" apart and puts it together.
//
// A host is a name, an IPv4 address, or an IPv6 address. The last has colons
// of its own and so stands in brackets, with its zone where it is a link's:
// "node-3:7000", "10.0.0.3:7000", "[::1]:7000", "[fe80::1%eth0]:7000".
//
// Not responsible for: resolving names.
// Thread safety: values; as safe as int.

#ifndef HOPLITE_NET_HOST_PORT_H_
#define HOPLITE_NET_HOST_PORT_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace hoplite {

struct HostPort {
  std::string host;  // without brackets
  std::uint16_t port = 0;

  // Errors: kInvalidArgument, quoting the text and saying what is wrong.
  static absl::StatusOr<HostPort> Parse(absl::string_view text);

  // Literals only; false for a name.
  bool is_ipv4() const;
  bool is_ipv6() const;
  // "0.0.0.0" and "::": every address of the machine, so none to dial.
  bool is_wildcard() const;

  // What Parse takes; brackets around what has a colon.
  std::string ToString() const;

  friend bool operator==(const HostPort&, const HostPort&) = default;
};

}  // namespace hoplite

#endif  // HOPLITE_NET_HOST_PORT_H_
