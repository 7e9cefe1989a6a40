#include "hoplite/net/host_port.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace hoplite {
namespace {

absl::Status Malformed(absl::string_view text, absl::string_view reason) {
  return absl::InvalidArgumentError(
      absl::StrFormat("\"%s\" is not HOST:PORT: %s", text, reason));
}

// The address without its zone.
std::string WithoutZone(const std::string& host) {
  return host.substr(0, host.find('%'));
}

bool IsIpv6(const std::string& host) {
  in6_addr address;
  return ::inet_pton(AF_INET6, WithoutZone(host).c_str(), &address) == 1;
}

absl::StatusOr<std::uint16_t> ParsePort(absl::string_view text,
                                        absl::string_view digits) {
  std::uint32_t port = 0;
  if (digits.empty()) return Malformed(text, "the port is missing");
  if (digits.find_first_not_of("0123456789") != absl::string_view::npos) {
    return Malformed(text, "the port is not a number");
  }
  if (!absl::SimpleAtoi(digits, &port) || port > UINT16_MAX) {
    return Malformed(text, "the port is above 65535");
  }
  return static_cast<std::uint16_t>(port);
}

}  // namespace

absl::StatusOr<HostPort> HostPort::Parse(absl::string_view text) {
  const std::size_t colon = text.rfind(':');
  if (colon == absl::string_view::npos) {
    return Malformed(text, "there is no colon with a port behind it");
  }
  absl::string_view host = text.substr(0, colon);
  if (host.empty()) return Malformed(text, "the host is missing");
  if (host.front() == '[') {
    if (host.back() != ']') {
      return Malformed(text, "a colon and a port have to follow the bracket");
    }
    host = host.substr(1, host.size() - 2);
    if (!IsIpv6(std::string(host))) {
      return Malformed(text, "no IPv6 address is in the brackets");
    }
  } else if (host.find(':') != absl::string_view::npos) {
    return Malformed(
        text, "an IPv6 address has to stand in brackets, as in [::1]:7000");
  }
  if (host.find_first_of("/ \t\r\n[]") != absl::string_view::npos) {
    return Malformed(text, "a host has no slash, blank or bracket");
  }
  const absl::StatusOr<std::uint16_t> port =
      ParsePort(text, text.substr(colon + 1));
  if (!port.ok()) return port.status();
  return HostPort{.host = std::string(host), .port = *port};
}

bool HostPort::is_ipv4() const {
  in_addr address;
  return ::inet_pton(AF_INET, host.c_str(), &address) == 1;
}

bool HostPort::is_ipv6() const { return IsIpv6(host); }

bool HostPort::is_wildcard() const {
  in_addr four;
  if (::inet_pton(AF_INET, host.c_str(), &four) == 1) {
    return four.s_addr == INADDR_ANY;
  }
  in6_addr six;
  return ::inet_pton(AF_INET6, host.c_str(), &six) == 1 &&
         IN6_IS_ADDR_UNSPECIFIED(&six);
}

std::string HostPort::ToString() const {
  if (host.find(':') != std::string::npos) {
    return absl::StrCat("[", host, "]:", port);
  }
  return absl::StrCat(host, ":", port);
}

}  // namespace hoplite
