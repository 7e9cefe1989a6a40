#include "hoplite/net/tcp_data_address.h"

#include <netdb.h>
#include <netinet/in.h>

#include <cstring>
#include <memory>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace hoplite {
namespace {

absl::Status NoAddress(absl::string_view text) {
  return absl::InvalidArgumentError(absl::StrFormat(
      "\"%s\" is no address: write HOST:PORT, an IPv6 address in brackets "
      "([::1]:7000), and a port from 0 to 65535",
      text));
}

}  // namespace

absl::StatusOr<HostPort> ParseHostPort(absl::string_view text) {
  const std::size_t colon = text.rfind(':');
  if (colon == absl::string_view::npos || colon == 0) return NoAddress(text);
  absl::string_view host = text.substr(0, colon);
  const absl::string_view digits = text.substr(colon + 1);
  if (host.front() == '[') {
    if (host.back() != ']' || host.size() < 3) return NoAddress(text);
    host = host.substr(1, host.size() - 2);
  } else if (host.find(':') != absl::string_view::npos) {
    return NoAddress(text);  // where would the port of "::1" begin?
  }
  std::uint32_t port = 0;
  if (digits.empty() ||
      digits.find_first_not_of("0123456789") != absl::string_view::npos ||
      !absl::SimpleAtoi(digits, &port) || port > UINT16_MAX) {
    return NoAddress(text);
  }
  return HostPort{std::string(host), static_cast<std::uint16_t>(port)};
}

std::string FormatHostPort(const HostPort& address) {
  if (address.host.find(':') != std::string::npos) {
    return absl::StrCat("[", address.host, "]:", address.port);
  }
  return absl::StrCat(address.host, ":", address.port);
}

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
  return FormatHostPort({host, port()});
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
        "%s is not known here: %s", FormatHostPort(address),
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
