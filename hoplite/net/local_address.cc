#include "hoplite/net/local_address.h"

#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <optional>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace hoplite {
namespace {

using AddressList = std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)>;

// Errors: kUnavailable, with the resolver's reason.
absl::StatusOr<AddressList> Resolve(const HostPort& address, int type,
                                    int flags) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = type;
  hints.ai_flags = AI_NUMERICSERV | flags;
  addrinfo* found = nullptr;
  const int error = ::getaddrinfo(
      address.host.c_str(), absl::StrCat(address.port).c_str(), &hints, &found);
  if (error != 0) {
    return absl::UnavailableError(absl::StrFormat(
        "the host %s is not known: %s", address.host,
        error == EAI_SYSTEM ? std::strerror(errno) : ::gai_strerror(error)));
  }
  return AddressList(found, &::freeaddrinfo);
}

std::optional<std::string> NumericHost(const sockaddr* address,
                                       socklen_t length) {
  char host[NI_MAXHOST];
  if (::getnameinfo(address, length, host, sizeof(host), nullptr, 0,
                    NI_NUMERICHOST) != 0) {
    return std::nullopt;
  }
  return std::string(host);
}

// The source address of a connected datagram socket: no packet is sent.
std::optional<std::string> SourceAddress(const addrinfo& remote) {
  const int socket = ::socket(remote.ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (socket < 0) return std::nullopt;
  const absl::Cleanup close = [socket] { ::close(socket); };
  sockaddr_storage local{};
  socklen_t length = sizeof(local);
  auto* address = reinterpret_cast<sockaddr*>(&local);
  if (::connect(socket, remote.ai_addr, remote.ai_addrlen) != 0 ||
      ::getsockname(socket, address, &length) != 0) {
    return std::nullopt;
  }
  return NumericHost(address, length);
}

// Addresses kept for documentation: nobody has them, so that the way to them
// is the default route.
HostPort Anywhere(bool ipv6) {
  return {.host = ipv6 ? "2001:db8::1" : "198.51.100.1", .port = 9};
}

std::optional<std::string> FirstInterfaceAddress(bool ipv6) {
  ifaddrs* interfaces = nullptr;
  if (::getifaddrs(&interfaces) != 0) return std::nullopt;
  const absl::Cleanup free = [interfaces] { ::freeifaddrs(interfaces); };
  for (const ifaddrs* one = interfaces; one != nullptr; one = one->ifa_next) {
    const bool usable = one->ifa_addr != nullptr &&
                        (one->ifa_flags & IFF_UP) != 0 &&
                        (one->ifa_flags & IFF_LOOPBACK) == 0;
    if (!usable || one->ifa_addr->sa_family != (ipv6 ? AF_INET6 : AF_INET)) {
      continue;
    }
    return NumericHost(one->ifa_addr,
                       ipv6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in));
  }
  return std::nullopt;
}

absl::Status ListenError(int error, const HostPort& address) {
  const std::string text = address.ToString();
  switch (error) {
    case EADDRINUSE:
      return absl::FailedPreconditionError(absl::StrFormat(
          "address in use %s: another process listens there; take another "
          "port, or port 0 for a free one",
          text));
    case EACCES:
      return absl::PermissionDeniedError(absl::StrFormat(
          "this user may not listen on %s; take a port above 1023", text));
    default:
      return absl::InvalidArgumentError(absl::StrFormat(
          "cannot listen on %s: %s", text, std::strerror(error)));
  }
}

}  // namespace

absl::StatusOr<std::string> LocalHostTowards(const HostPort& remote,
                                             const HostPort& wildcard) {
  const absl::StatusOr<AddressList> found = Resolve(remote, SOCK_DGRAM, 0);
  if (!found.ok()) return found.status();
  for (const addrinfo* one = found->get(); one != nullptr; one = one->ai_next) {
    // What listens on "::" takes both families.
    if (one->ai_family == AF_INET6 && !wildcard.is_ipv6()) continue;
    const std::optional<std::string> host = SourceAddress(*one);
    if (host.has_value()) return *host;
  }
  return absl::UnavailableError(
      absl::StrFormat("no way leads to %s from where %s listens",
                      remote.ToString(), wildcard.host));
}

std::string OwnHost(const HostPort& wildcard) {
  // What listens on "::" takes both families.
  std::vector<bool> families = {false};
  if (wildcard.is_ipv6()) families.push_back(true);
  for (const bool ipv6 : families) {
    const absl::StatusOr<std::string> host =
        LocalHostTowards(Anywhere(ipv6), wildcard);
    if (host.ok()) return *host;
  }
  for (const bool ipv6 : families) {
    const std::optional<std::string> host = FirstInterfaceAddress(ipv6);
    if (host.has_value()) return *host;
  }
  return "127.0.0.1";
}

absl::Status CheckCanListen(const HostPort& address) {
  const absl::StatusOr<AddressList> found =
      Resolve(address, SOCK_STREAM, AI_PASSIVE);
  if (!found.ok()) {
    return absl::InvalidArgumentError(
        absl::StrFormat("cannot listen on %s: %s", address.ToString(),
                        found.status().message()));
  }
  int error = 0;
  for (const addrinfo* one = found->get(); one != nullptr; one = one->ai_next) {
    const int socket = ::socket(one->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (socket < 0) {
      error = errno;
      continue;
    }
    const absl::Cleanup close = [socket] { ::close(socket); };
    const int on = 1;
    ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    if (::bind(socket, one->ai_addr, one->ai_addrlen) == 0) {
      return absl::OkStatus();
    }
    error = errno;
  }
  return ListenError(error, address);
}

}  // namespace hoplite
