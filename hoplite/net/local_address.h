// Finds an address of this machine that peers can reach.
//
// Who listens on every address ("0.0.0.0:7000") has to tell others one. The
// right one is the source address that the kernel takes on the way to them: a
// bridge that every machine has alike (docker0) is never on it.
//
// Thread safety: thread-safe.

#ifndef HOPLITE_NET_LOCAL_ADDRESS_H_
#define HOPLITE_NET_LOCAL_ADDRESS_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "hoplite/net/host_port.h"

namespace hoplite {

// This machine's address on the way to `remote`, of a family that whoever
// listens on `wildcard` takes ("::" takes both); sends nothing.
// Errors: kUnavailable where the name is unknown or there is no way to it.
absl::StatusOr<std::string> LocalHostTowards(const HostPort& remote,
                                             const HostPort& wildcard = {
                                                 .host = "::", .port = 0});

// This machine's address on its default route; without one, that of the first
// interface that is up; without that, loopback. Of the family of `wildcard`
// where there is a choice.
std::string OwnHost(const HostPort& wildcard);

// OK where a socket could listen there now.
// Errors: kFailedPrecondition "address in use"; kInvalidArgument where the
// host is unknown or no address of this machine; kPermissionDenied.
absl::Status CheckCanListen(const HostPort& address);

}  // namespace hoplite

#endif  // HOPLITE_NET_LOCAL_ADDRESS_H_
