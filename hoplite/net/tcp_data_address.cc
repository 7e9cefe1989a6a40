#include "hoplite/net/tcp_data_address.h"

#include <netdb.h>
#include <netinet/in.h>

#include <cstring>
#include <memory>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace hoplite {
std::uint16_t Endpoint::port() const {
  if (storage.ss_family == AF_INET) {
    return ntohs(reinterpret_cast<const sockaddr_in*>(&storage)->sin_port);
  }
  return ntohs(reinterpret_cast<const sockaddr_in6*>(&storage)->sin6_port);
}

std::string Endpoint::ToString() const {
  char host[NI_MAXHOST];
  if (::getnameinfo(address(), length, host, sizeof(host), nullptr, 0,
                    NI_NUMERICHOST) != 0) {
    return "an unknown address";
  }
  return HostPort{host, port()}.ToString();
}

absl::StatusOr<std::vector<Endpoint>> Resolve(const HostPort& address,
                                              Resolution resolution) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV;
  if (resolution == Resolution::kNumericOnly) hints.ai_flags |= AI_NUMERICHOST;
  addrinfo* found = nullptr;
  const int error = ::getaddrinfo(
      address.host.c_str(), absl::StrCat(address.port).c_str(), &hints, &found);
  if (error != 0) {
    return absl::UnavailableError(absl::StrFormat(
        "%s is not known here: %s", address.ToString(),
        error == EAI_SYSTEM ? std::strerror(errno) : ::gai_strerror(error)));
  }
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owned(
      found, &::freeaddrinfo);
  std::vector<Endpoint> endpoints;
  for (const addrinfo* one = found; one != nullptr; one = one->ai_next) {
    if (one->ai_addrlen > sizeof(sockaddr_storage)) continue;
    Endpoint& endpoint = endpoints.emplace_back();
    std::memcpy(&endpoint.storage, one->ai_addr, one->ai_addrlen);
    endpoint.length = one->ai_addrlen;
  }
  return endpoints;
}

}  // namespace hoplite
