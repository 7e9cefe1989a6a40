#include "hoplite/net/tcp_data_raw_peer.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "hoplite/base/check.h"
#include "hoplite/net/host_port.h"
#include "hoplite/net/tcp_data_address.h"

namespace hoplite {
namespace {

constexpr int kPatienceSeconds = 30;

// What a call on a socket returns that no signal has interrupted.
template <typename Call>
auto Uninterrupted(const Call& call) {
  for (;;) {
    const auto result = call();
    if (result >= 0 || errno != EINTR) return result;
  }
}

// For recv and accept.
void LimitWaits(int descriptor) {
  const timeval limit{.tv_sec = kPatienceSeconds, .tv_usec = 0};
  HOPLITE_CHECK(::setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit,
                             sizeof(limit)) == 0);
}

// A connect that a signal interrupts goes on by itself.
bool Connects(int descriptor, const Endpoint& endpoint) {
  if (::connect(descriptor, endpoint.address(), endpoint.length) == 0) {
    return true;
  }
  if (errno != EINTR) return false;
  pollfd ends{.fd = descriptor, .events = POLLOUT, .revents = 0};
  if (Uninterrupted(
          [&] { return ::poll(&ends, 1, kPatienceSeconds * 1000); }) != 1) {
    return false;
  }
  int error = 0;
  socklen_t size = sizeof(error);
  return ::getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &error, &size) == 0 &&
         error == 0;
}

int Listen() {
  const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const auto any =
      Resolve({.host = "127.0.0.1", .port = 0}, Resolution::kNumericOnly);
  HOPLITE_CHECK(::bind(listener, any->front().address(), any->front().length) ==
                0);
  HOPLITE_CHECK(::listen(listener, 16) == 0);
  LimitWaits(listener);
  return listener;
}

}  // namespace

RawSocket::RawSocket(int descriptor) : descriptor_(descriptor) {
  HOPLITE_CHECK(descriptor >= 0);
  LimitWaits(descriptor);
}

RawSocket RawSocket::ConnectTo(const Member& member) {
  const auto address = HostPort::Parse(member.data_address);
  const auto endpoints = Resolve(*address, Resolution::kNumericOnly);
  const Endpoint& endpoint = endpoints->front();
  const int descriptor =
      ::socket(endpoint.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  HOPLITE_CHECK(descriptor >= 0);
  HOPLITE_CHECK(Connects(descriptor, endpoint));
  return RawSocket(descriptor);
}

void RawSocket::Close() {
  if (descriptor_ >= 0) ::close(std::exchange(descriptor_, -1));
}

void RawSocket::Send(std::span<const std::byte> bytes) const {
  while (!bytes.empty()) {
    const ssize_t sent = Uninterrupted([&] {
      return ::send(descriptor_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    });
    if (sent < 0) return;
    bytes = bytes.subspan(static_cast<std::size_t>(sent));
  }
}

Bytes RawSocket::Receive(std::size_t count) const {
  Bytes bytes(count);
  std::size_t got = 0;
  while (got < count) {
    const ssize_t more = Uninterrupted([&] {
      return ::recv(descriptor_, bytes.data() + got, count - got, 0);
    });
    if (more <= 0) break;
    got += static_cast<std::size_t>(more);
  }
  bytes.resize(got);
  return bytes;
}

bool RawSocket::IsClosed() const {
  std::byte byte;
  const ssize_t got =
      Uninterrupted([&] { return ::recv(descriptor_, &byte, 1, 0); });
  return got == 0 || (got < 0 && errno == ECONNRESET);
}

RawServer::RawServer() : listener_(Listen()) {}

RawServer::~RawServer() { ::close(listener_); }

Member RawServer::member() const {
  Endpoint endpoint;
  endpoint.length = sizeof(endpoint.storage);
  HOPLITE_CHECK(::getsockname(listener_, endpoint.mutable_address(),
                              &endpoint.length) == 0);
  return {.ref = kRawNode,
          .control_address = "",
          .data_address = endpoint.ToString()};
}

RawSocket RawServer::Accept() {
  RawSocket socket(
      Uninterrupted([&] { return ::accept(listener_, nullptr, nullptr); }));
  hello = socket.Receive(kHelloBytes);
  ReadRequest(socket);
  return socket;
}

void RawServer::ReadRequest(const RawSocket& socket) {
  const Bytes bytes = socket.Receive(kPullRequestBytes);
  HOPLITE_CHECK(bytes.size() == kPullRequestBytes);
  const auto decoded =
      DecodePullRequest(std::span(bytes).first<kPullRequestBytes>());
  HOPLITE_CHECK(decoded.has_value());
  request = *decoded;
}

Bytes EncodedHello(const Hello& hello) {
  Bytes bytes(kHelloBytes);
  EncodeHello(hello, std::span(bytes).first<kHelloBytes>());
  return bytes;
}

Bytes EncodedRequest(const PullRequest& request) {
  Bytes bytes(kPullRequestBytes);
  EncodePullRequest(request, std::span(bytes).first<kPullRequestBytes>());
  return bytes;
}

Bytes EncodedHeader(const FrameHeader& header) {
  Bytes bytes(kFrameHeaderBytes);
  EncodeFrameHeader(header, std::span(bytes).first<kFrameHeaderBytes>());
  return bytes;
}

FrameHeader HeaderFor(const PullRequest& request, const ObjectBuffer& buffer,
                      std::uint64_t offset) {
  const std::uint64_t length =
      std::min<std::uint64_t>(request.frame_bytes, request.size - offset);
  return {.kind = FrameKind::kData,
          .transfer = request.transfer,
          .generation_digest = GenerationDigest(request.generation),
          .offset = offset,
          .frame_bytes = request.frame_bytes,
          .length = static_cast<std::uint32_t>(length),
          .checksum = Crc32c(buffer.bytes().subspan(offset, length))};
}

Bytes EncodedFrame(const PullRequest& request, const ObjectBuffer& buffer,
                   std::uint64_t offset) {
  const FrameHeader header = HeaderFor(request, buffer, offset);
  Bytes bytes = EncodedHeader(header);
  const auto payload = buffer.bytes().subspan(offset, header.length);
  bytes.insert(bytes.end(), payload.begin(), payload.end());
  return bytes;
}

}  // namespace hoplite
