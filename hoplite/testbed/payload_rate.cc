#include "hoplite/testbed/payload_rate.h"

#include <sys/socket.h>

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "hoplite/base/status_macros.h"
#include "hoplite/testbed/plain_socket.h"

namespace hoplite::testbed {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kPieceBytes = 256 << 10;
constexpr std::uint64_t kMagic = 0x5261746550617931;

// Both ends run on one machine, so these have no byte order.
struct Request {
  std::uint64_t magic;
  std::int64_t warm_up_nanoseconds;
  std::int64_t measured_nanoseconds;
};
struct Answer {
  std::uint64_t bytes;
  std::int64_t nanoseconds;
};

bool IsSensible(absl::Duration duration) {
  return duration > absl::ZeroDuration() && duration <= absl::Hours(1);
}

// Counts from the first arrival after the warm-up, which does not count
// itself, to the last one: whole spans between arrivals.
absl::StatusOr<Answer> Count(const Descriptor& socket, const Request& request) {
  std::vector<std::byte> piece(kPieceBytes);
  const auto warm_up = std::chrono::nanoseconds(request.warm_up_nanoseconds);
  const auto measured = std::chrono::nanoseconds(request.measured_nanoseconds);
  const Clock::time_point start = Clock::now();
  std::optional<Clock::time_point> begin;
  std::uint64_t bytes = 0;
  while (true) {
    HOPLITE_ASSIGN_OR_RETURN(const std::size_t received,
                             ReceiveSome(socket, std::span(piece)));
    if (received == 0) {
      return absl::UnavailableError("the sender of a measurement has gone");
    }
    const Clock::time_point now = Clock::now();
    if (!begin.has_value()) {
      if (now - start >= warm_up) begin = now;
      continue;
    }
    bytes += received;
    if (now - *begin >= measured) {
      return Answer{
          .bytes = bytes,
          .nanoseconds = std::chrono::nanoseconds(now - *begin).count()};
    }
  }
}

// Sends until the other end has an answer.
absl::Status SendUntilAnswered(const Descriptor& socket) {
  const std::vector<std::byte> piece(kPieceBytes);
  while (!WaitUntilReadable(socket.number(), absl::InfinitePast())) {
    HOPLITE_RETURN_IF_ERROR(SendAll(socket, std::span(piece)));
  }
  return absl::OkStatus();
}

// What still waits to be sent is thrown away on close: it would delay
// whatever is measured next on the link.
void DropOnClose(const Descriptor& socket) {
  const linger none = {.l_onoff = 1, .l_linger = 0};
  setsockopt(socket.number(), SOL_SOCKET, SO_LINGER, &none, sizeof(none));
}

}  // namespace

absl::StatusOr<PayloadRateServer> PayloadRateServer::Listen() {
  HOPLITE_ASSIGN_OR_RETURN(Descriptor listener, ListenOnFreePort());
  HOPLITE_ASSIGN_OR_RETURN(const int port, PortOf(listener));
  return PayloadRateServer(std::move(listener), port);
}

absl::Status PayloadRateServer::ServeOne(absl::Time deadline) {
  HOPLITE_ASSIGN_OR_RETURN(const Descriptor socket,
                           AcceptConnection(listener_, deadline));
  Request request = {};
  HOPLITE_RETURN_IF_ERROR(
      ReceiveAll(socket, std::as_writable_bytes(std::span(&request, 1))));
  if (request.magic != kMagic) {
    return absl::InvalidArgumentError(
        "a connection that is no measurement of the payload rate");
  }
  HOPLITE_ASSIGN_OR_RETURN(const Answer answer, Count(socket, request));
  HOPLITE_RETURN_IF_ERROR(
      SendAll(socket, std::as_bytes(std::span(&answer, 1))));
  // A close with unread data would destroy the answer on its way; and when
  // the client's end has come, the link is free again.
  std::vector<std::byte> rest(kPieceBytes);
  while (true) {
    const auto received = ReceiveSome(socket, std::span(rest));
    if (!received.ok() || *received == 0) return absl::OkStatus();
  }
}

absl::StatusOr<PayloadRate> MeasurePayloadRate(
    absl::string_view host, int port, const PayloadRateOptions& options) {
  if (!IsSensible(options.warm_up) || !IsSensible(options.measured)) {
    return absl::InvalidArgumentError(
        "a measurement warms up and counts for more than 0 s and at most 1 h");
  }
  HOPLITE_ASSIGN_OR_RETURN(const Descriptor socket, ConnectTo(host, port));
  const Request request = {
      .magic = kMagic,
      .warm_up_nanoseconds = absl::ToInt64Nanoseconds(options.warm_up),
      .measured_nanoseconds = absl::ToInt64Nanoseconds(options.measured)};
  HOPLITE_RETURN_IF_ERROR(
      SendAll(socket, std::as_bytes(std::span(&request, 1))));
  HOPLITE_RETURN_IF_ERROR(SendUntilAnswered(socket));
  DropOnClose(socket);
  Answer answer = {};
  HOPLITE_RETURN_IF_ERROR(
      ReceiveAll(socket, std::as_writable_bytes(std::span(&answer, 1))));
  return PayloadRate{.bits_per_second = 8e9 *
                                        static_cast<double>(answer.bytes) /
                                        static_cast<double>(answer.nanoseconds),
                     .congestion_control = CongestionControlOf(socket)};
}

}  // namespace hoplite::testbed
