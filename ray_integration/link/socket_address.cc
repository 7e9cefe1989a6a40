#include "ray_integration/link/socket_address.h"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/un.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "hoplite/base/status_macros.h"
#include "hoplite/net/host_port.h"

namespace hoplite::task {
namespace {

constexpr absl::string_view kUnixPrefix = "unix:";

absl::StatusOr<SocketAddress> UnixAddress(absl::string_view path) {
  SocketAddress address;
  sockaddr_un unix_address{};
  if (path.empty() || path.size() >= sizeof(unix_address.sun_path)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the path of a socket has 1 to ", sizeof(unix_address.sun_path) - 1,
        " characters, and \"", path, "\" has ", path.size()));
  }
  unix_address.sun_family = AF_UNIX;
  std::memcpy(unix_address.sun_path, path.data(), path.size());
  address.length = sizeof(unix_address);
  std::memcpy(&address.storage, &unix_address, sizeof(unix_address));
  return address;
}

absl::StatusOr<std::vector<SocketAddress>> InternetAddresses(
    absl::string_view text, Purpose purpose) {
  HOPLITE_ASSIGN_OR_RETURN(const HostPort place, HostPort::Parse(text));
  if (purpose == Purpose::kConnect && place.port == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("nobody listens at port 0: ", text));
  }
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV;
  addrinfo* list = nullptr;
  const int error = getaddrinfo(
      place.host.c_str(), std::to_string(place.port).c_str(), &hints, &list);
  if (error != 0) {
    return absl::UnavailableError(absl::StrCat(
        "the host of ", text, " is unknown: ", gai_strerror(error)));
  }
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner(list,
                                                             freeaddrinfo);
  std::vector<SocketAddress> addresses;
  for (const addrinfo* each = list; each != nullptr; each = each->ai_next) {
    SocketAddress& address = addresses.emplace_back();
    std::memcpy(&address.storage, each->ai_addr, each->ai_addrlen);
    address.length = each->ai_addrlen;
  }
  return addresses;
}

absl::Status CannotListen(absl::string_view address, int error) {
  const std::string text =
      absl::StrCat("cannot listen at ", address, ": ", std::strerror(error));
  switch (error) {
    case EADDRINUSE:
      return absl::AlreadyExistsError(text);
    case EADDRNOTAVAIL:
      return absl::InvalidArgumentError(text);
    default:
      return absl::UnavailableError(text);
  }
}

// 0 where the kernel does not tell.
std::uint16_t PortOf(const FileDescriptor& socket) {
  sockaddr_storage storage{};
  socklen_t length = sizeof(storage);
  if (getsockname(socket.get(), reinterpret_cast<sockaddr*>(&storage),
                  &length) != 0) {
    return 0;
  }
  if (storage.ss_family == AF_INET6) {
    sockaddr_in6 address;
    std::memcpy(&address, &storage, sizeof(address));
    return ntohs(address.sin6_port);
  }
  sockaddr_in address;
  std::memcpy(&address, &storage, sizeof(address));
  return ntohs(address.sin_port);
}

absl::StatusOr<Listening> ListenAtHost(absl::string_view text) {
  HOPLITE_ASSIGN_OR_RETURN(HostPort place, HostPort::Parse(text));
  HOPLITE_ASSIGN_OR_RETURN(const auto addresses,
                           ResolveAddress(text, Purpose::kListen));
  HOPLITE_ASSIGN_OR_RETURN(FileDescriptor socket,
                           MakeSocket(addresses.front()));
  const int on = 1;
  setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  if (bind(socket.get(), addresses.front().generic(),
           addresses.front().length) != 0 ||
      listen(socket.get(), SOMAXCONN) != 0) {
    return CannotListen(text, errno);
  }
  place.port = PortOf(socket);
  return Listening{.socket = std::move(socket), .address = place.ToString()};
}

absl::StatusOr<Listening> ListenAtPath(absl::string_view address,
                                       absl::string_view path) {
  HOPLITE_RETURN_IF_ERROR(UnixAddress(path).status());
  HOPLITE_ASSIGN_OR_RETURN(FileDescriptor socket,
                           ListenAtSocket(std::string(path)));
  fcntl(socket.get(), F_SETFL, fcntl(socket.get(), F_GETFL) | O_NONBLOCK);
  return Listening{.socket = std::move(socket),
                   .address = std::string(address),
                   .path = std::string(path)};
}

}  // namespace

absl::StatusOr<std::vector<SocketAddress>> ResolveAddress(
    absl::string_view address, Purpose purpose) {
  absl::string_view path = address;
  if (!absl::ConsumePrefix(&path, kUnixPrefix)) {
    return InternetAddresses(address, purpose);
  }
  HOPLITE_ASSIGN_OR_RETURN(SocketAddress unix_address, UnixAddress(path));
  return std::vector<SocketAddress>{unix_address};
}

absl::StatusOr<Listening> ListenAt(absl::string_view address) {
  absl::string_view path = address;
  return absl::ConsumePrefix(&path, kUnixPrefix) ? ListenAtPath(address, path)
                                                 : ListenAtHost(address);
}

absl::StatusOr<FileDescriptor> MakeSocket(const SocketAddress& address) {
  FileDescriptor made(socket(address.storage.ss_family,
                             SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!made) {
    return absl::ResourceExhaustedError(
        absl::StrCat("cannot make a socket: ", std::strerror(errno)));
  }
  if (!address.is_unix()) SendAtOnce(made);
  return made;
}

void SendAtOnce(const FileDescriptor& socket) {
  const int on = 1;
  setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

}  // namespace hoplite::task
