#include "hoplite/testbed/plain_socket.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <memory>

#include "absl/strings/str_cat.h"
#include "hoplite/base/status_macros.h"

namespace hoplite::testbed {
namespace {

constexpr int kBacklog = 64;

absl::Status SocketError(absl::string_view action) {
  return absl::UnavailableError(
      absl::StrCat("cannot ", action, ": ", std::strerror(errno)));
}

void SendWithoutDelay(const Descriptor& socket) {
  const int on = 1;
  setsockopt(socket.number(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

}  // namespace

absl::StatusOr<Descriptor> ListenOnFreePort() {
  // One socket for both families, where there are both.
  Descriptor socket(::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (socket.is_open()) {
    const int off = 0;
    setsockopt(socket.number(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
  } else {
    socket = Descriptor(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  }
  if (!socket.is_open() || listen(socket.number(), kBacklog) != 0) {
    return SocketError("listen on a free port");
  }
  return socket;
}

absl::StatusOr<int> PortOf(const Descriptor& socket) {
  sockaddr_storage address = {};
  socklen_t size = sizeof(address);
  if (getsockname(socket.number(), reinterpret_cast<sockaddr*>(&address),
                  &size) == 0) {
    if (address.ss_family == AF_INET6) {
      return ntohs(reinterpret_cast<sockaddr_in6*>(&address)->sin6_port);
    }
    if (address.ss_family == AF_INET) {
      return ntohs(reinterpret_cast<sockaddr_in*>(&address)->sin_port);
    }
  }
  return absl::InternalError("a socket without a port");
}

absl::StatusOr<Descriptor> AcceptConnection(const Descriptor& listener,
                                            absl::Time deadline) {
  if (!WaitUntilReadable(listener.number(), deadline)) {
    return absl::DeadlineExceededError("nobody connected in time");
  }
  Descriptor socket(accept4(listener.number(), nullptr, nullptr, SOCK_CLOEXEC));
  if (!socket.is_open()) return SocketError("accept a connection");
  SendWithoutDelay(socket);
  return socket;
}

absl::StatusOr<Descriptor> ConnectTo(absl::string_view host, int port) {
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int error = getaddrinfo(std::string(host).c_str(),
                                absl::StrCat(port).c_str(), &hints, &found);
  if (error != 0) {
    return absl::NotFoundError(
        absl::StrCat("no address of ", host, ": ", gai_strerror(error)));
  }
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owner(found,
                                                                 freeaddrinfo);
  for (const addrinfo* next = found; next != nullptr; next = next->ai_next) {
    Descriptor socket(::socket(next->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (!socket.is_open()) continue;
    if (connect(socket.number(), next->ai_addr, next->ai_addrlen) == 0) {
      SendWithoutDelay(socket);
      return socket;
    }
  }
  return SocketError(absl::StrCat("connect to ", host, " port ", port));
}

absl::Status SendAll(const Descriptor& socket,
                     std::span<const std::byte> data) {
  while (!data.empty()) {
    const ssize_t sent =
        send(socket.number(), data.data(), data.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) return SocketError("send");
    data = data.subspan(static_cast<std::size_t>(sent));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::size_t> ReceiveSome(const Descriptor& socket,
                                        std::span<std::byte> data) {
  while (true) {
    const ssize_t received = recv(socket.number(), data.data(), data.size(), 0);
    if (received >= 0) return static_cast<std::size_t>(received);
    if (errno != EINTR) return SocketError("receive");
  }
}

absl::Status ReceiveAll(const Descriptor& socket, std::span<std::byte> data) {
  while (!data.empty()) {
    HOPLITE_ASSIGN_OR_RETURN(const std::size_t received,
                             ReceiveSome(socket, data));
    if (received == 0) return absl::UnavailableError("the stream ended early");
    data = data.subspan(received);
  }
  return absl::OkStatus();
}

std::string CongestionControlOf(const Descriptor& socket) {
  char name[16] = {};
  socklen_t size = sizeof(name) - 1;
  if (getsockopt(socket.number(), IPPROTO_TCP, TCP_CONGESTION, name, &size) !=
      0) {
    return "";
  }
  return name;
}

}  // namespace hoplite::testbed
