#include "hoplite/net/tcp_data_socket.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "hoplite/base/status_macros.h"

namespace hoplite {
namespace {

// A storm of connections must not lose one.
constexpr int kListenBacklog = 4096;
// What a stream may have in the kernel beyond what is on its way: so much a
// cancelled transfer costs its link.
constexpr int kUnsentBytes = 64 << 10;
// A connection whose peer is gone is noticed even while nothing is sent.
constexpr int kKeepAliveIdleSeconds = 5;
constexpr int kKeepAliveIntervalSeconds = 2;
constexpr int kKeepAliveProbes = 3;
constexpr int kUserTimeoutMilliseconds = 10000;

void SetOption(int descriptor, int level, int option, int value) {
  // Every one only makes things better; none is worth an error.
  (void)::setsockopt(descriptor, level, option, &value, sizeof(value));
}

void TuneStream(int descriptor) {
  SetOption(descriptor, IPPROTO_TCP, TCP_NODELAY, 1);
  SetOption(descriptor, IPPROTO_TCP, TCP_NOTSENT_LOWAT, kUnsentBytes);
  SetOption(descriptor, SOL_SOCKET, SO_KEEPALIVE, 1);
  SetOption(descriptor, IPPROTO_TCP, TCP_KEEPIDLE, kKeepAliveIdleSeconds);
  SetOption(descriptor, IPPROTO_TCP, TCP_KEEPINTVL, kKeepAliveIntervalSeconds);
  SetOption(descriptor, IPPROTO_TCP, TCP_KEEPCNT, kKeepAliveProbes);
}

int OpenSocket(int family) {
  return ::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
}

// A listening socket, or -1 and errno.
int TryListen(const Endpoint& endpoint) {
  const int descriptor = OpenSocket(endpoint.storage.ss_family);
  if (descriptor < 0) return -1;
  SetOption(descriptor, SOL_SOCKET, SO_REUSEADDR, 1);
  if (endpoint.storage.ss_family == AF_INET6) {
    SetOption(descriptor, IPPROTO_IPV6, IPV6_V6ONLY, 0);
  }
  if (::bind(descriptor, endpoint.address(), endpoint.length) == 0 &&
      ::listen(descriptor, kListenBacklog) == 0) {
    return descriptor;
  }
  const int error = errno;
  ::close(descriptor);
  errno = error;
  return -1;
}

}  // namespace

void RaiseDescriptorLimit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  if (limit.rlim_cur >= limit.rlim_max) return;
  limit.rlim_cur = limit.rlim_max;
  (void)::setrlimit(RLIMIT_NOFILE, &limit);
}

absl::StatusOr<int> OpenListener(const HostPort& address) {
  HOPLITE_ASSIGN_OR_RETURN(std::vector<Endpoint> endpoints,
                           Resolve(address, Resolution::kNames));
  if (address.host == "::") {
    HOPLITE_ASSIGN_OR_RETURN(
        const std::vector<Endpoint> all,
        Resolve({"0.0.0.0", address.port}, Resolution::kNumericOnly));
    endpoints.insert(endpoints.end(), all.begin(), all.end());
  }
  std::string reasons;
  for (const Endpoint& endpoint : endpoints) {
    const int descriptor = TryListen(endpoint);
    if (descriptor >= 0) return descriptor;
    absl::StrAppend(&reasons, reasons.empty() ? "" : "; ", endpoint.ToString(),
                    ": ", std::strerror(errno));
    // Another's port is not to be had on the other family either.
    if (errno == EADDRINUSE) break;
  }
  return absl::UnavailableError(
      absl::StrFormat("cannot listen for data on %s (%s); choose another "
                      "address, or port 0 for a free one",
                      address.ToString(), reasons));
}

Endpoint LocalEndpoint(int descriptor) {
  Endpoint endpoint;
  endpoint.length = sizeof(endpoint.storage);
  (void)::getsockname(descriptor, endpoint.mutable_address(), &endpoint.length);
  return endpoint;
}

AcceptResult Accept(int listener) {
  for (;;) {
    const int descriptor =
        ::accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (descriptor >= 0) {
      TuneStream(descriptor);
      return {.descriptor = descriptor};
    }
    if (errno == EAGAIN) return {};
    // Of the connection that would have been: the next, please.
    if (errno == EINTR || errno == ECONNABORTED || errno == EPROTO) continue;
    return {.exhausted = true};
  }
}

int StartConnect(const Endpoint& endpoint) {
  const int descriptor = OpenSocket(endpoint.storage.ss_family);
  if (descriptor < 0) return -1;
  TuneStream(descriptor);
  // A request that nobody acknowledges. Not at the accepting end: there it
  // would end streams whose receiver has had no room for so long.
  SetOption(descriptor, IPPROTO_TCP, TCP_USER_TIMEOUT,
            kUserTimeoutMilliseconds);
  if (::connect(descriptor, endpoint.address(), endpoint.length) == 0 ||
      errno == EINPROGRESS) {
    return descriptor;
  }
  ::close(descriptor);
  return -1;
}

int ConnectError(int descriptor) {
  int error = 0;
  socklen_t length = sizeof(error);
  if (::getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &error, &length) != 0) {
    return errno;
  }
  return error;
}

std::ptrdiff_t Receive(int descriptor, std::span<iovec> parts) {
  msghdr message{};
  message.msg_iov = parts.data();
  message.msg_iovlen = parts.size();
  for (;;) {
    const ssize_t count = ::recvmsg(descriptor, &message, MSG_DONTWAIT);
    if (count > 0) return count;
    if (count == 0) return -1;
    if (errno == EAGAIN) return 0;
    if (errno != EINTR) return -1;
  }
}

std::ptrdiff_t Send(int descriptor, std::span<iovec> parts) {
  msghdr message{};
  message.msg_iov = parts.data();
  message.msg_iovlen = parts.size();
  for (;;) {
    const ssize_t count =
        ::sendmsg(descriptor, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (count >= 0) return count;
    if (errno == EAGAIN) return 0;
    if (errno != EINTR) return -1;
  }
}

void AllowUnsent(int descriptor, std::size_t frame_bytes) {
  if (frame_bytes <= static_cast<std::size_t>(kUnsentBytes)) return;
  SetOption(descriptor, IPPROTO_TCP, TCP_NOTSENT_LOWAT,
            static_cast<int>(frame_bytes));
}

}  // namespace hoplite
