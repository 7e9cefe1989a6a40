#include "hoplite/api/socket_link.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>
#include <variant>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "hoplite/base/status_macros.h"

namespace hoplite {
namespace {

// A node that lives greets at once.
constexpr absl::Duration kGreetingTimeout = absl::Seconds(5);

struct Greeting {
  client_message::Welcome welcome;
  FileDescriptor readable;
  FileDescriptor writable;
};

absl::Status NoGreeting(const std::string& path, absl::string_view why) {
  return absl::UnavailableError(
      absl::StrCat("the node at ", path, " does not greet: ", why));
}

// Of a recvmsg that has failed.
absl::Status NoAnswer(const std::string& path, absl::Duration timeout) {
  if (errno != EAGAIN) return NoGreeting(path, std::strerror(errno));
  return absl::DeadlineExceededError(absl::StrCat(
      "the node at ", path, " did not answer within ",
      absl::FormatDuration(absl::Ceil(timeout, absl::Milliseconds(1)))));
}

// Moves descriptors that came with `message` into the greeting.
void TakeDescriptors(msghdr& message, Greeting& greeting) {
  for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr;
       header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) {
      continue;
    }
    std::array<int, 2> numbers{-1, -1};
    std::memcpy(numbers.data(), CMSG_DATA(header),
                std::min(sizeof(numbers), header->cmsg_len - CMSG_LEN(0)));
    greeting.readable = FileDescriptor(numbers[0]);
    greeting.writable = FileDescriptor(numbers[1]);
  }
}

// Reads exactly the frame of a Welcome, and the descriptors that come with it.
absl::StatusOr<Greeting> ReadGreeting(int socket, const std::string& path,
                                      absl::Duration timeout) {
  std::string frame(EncodeFrame(client_message::Welcome{}).size(), '\0');
  Greeting greeting;
  for (std::size_t done = 0; done < frame.size();) {
    iovec part{.iov_base = frame.data() + done, .iov_len = frame.size() - done};
    alignas(cmsghdr) std::array<char, CMSG_SPACE(2 * sizeof(int))> control{};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    const ssize_t count = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return NoAnswer(path, timeout);
    if (count == 0) return NoGreeting(path, "it closed the connection");
    TakeDescriptors(message, greeting);
    done += static_cast<std::size_t>(count);
  }
  const std::optional<ClientMessage> decoded =
      DecodeFrame(absl::string_view(frame).substr(4));
  const auto* welcome = decoded.has_value()
                            ? std::get_if<client_message::Welcome>(&*decoded)
                            : nullptr;
  if (welcome == nullptr) return NoGreeting(path, "it is no node");
  greeting.welcome = *welcome;
  return greeting;
}

absl::StatusOr<Greeting> Greet(int socket, const std::string& path,
                               absl::Duration timeout) {
  // Zero would be for ever.
  const timeval wait =
      absl::ToTimeval(std::max(timeout, absl::Microseconds(1)));
  setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait));
  const std::string hello = EncodeFrame(client_message::Hello{});
  if (send(socket, hello.data(), hello.size(), MSG_NOSIGNAL) !=
      static_cast<ssize_t>(hello.size())) {
    return NoGreeting(path, std::strerror(errno));
  }
  HOPLITE_ASSIGN_OR_RETURN(Greeting greeting,
                           ReadGreeting(socket, path, timeout));
  if (greeting.welcome.version != kClientProtocolVersion) {
    return absl::FailedPreconditionError(
        absl::StrCat("the node at ", path, " speaks version ",
                     greeting.welcome.version, " and this client version ",
                     kClientProtocolVersion, ": use the same build for both"));
  }
  if (!greeting.readable || !greeting.writable) {
    return NoGreeting(path, "its memory did not come");
  }
  return greeting;
}

}  // namespace

absl::StatusOr<std::shared_ptr<SocketLink>> SocketLink::Connect(
    std::string socket_path, absl::Duration timeout) {
  HOPLITE_ASSIGN_OR_RETURN(FileDescriptor socket, ConnectToSocket(socket_path));
  HOPLITE_ASSIGN_OR_RETURN(
      const Greeting greeting,
      Greet(socket.get(), socket_path, std::min(timeout, kGreetingTimeout)));
  const std::uint64_t capacity = greeting.welcome.store_capacity;
  HOPLITE_ASSIGN_OR_RETURN(std::unique_ptr<SharedMapping> readable,
                           SharedMapping::Map(greeting.readable.get(), capacity,
                                              /*writable=*/false));
  HOPLITE_ASSIGN_OR_RETURN(std::unique_ptr<SharedMapping> writable,
                           SharedMapping::Map(greeting.writable.get(), capacity,
                                              /*writable=*/true));
  FileDescriptor wake(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake) {
    return absl::UnavailableError(
        absl::StrCat("cannot make an eventfd: ", std::strerror(errno)));
  }
  return std::make_shared<SocketLink>(std::move(socket_path), std::move(socket),
                                      std::move(wake), std::move(readable),
                                      std::move(writable));
}

SocketLink::SocketLink(std::string socket_path, FileDescriptor socket,
                       FileDescriptor wake,
                       std::unique_ptr<SharedMapping> readable,
                       std::unique_ptr<SharedMapping> writable)
    : socket_path_(std::move(socket_path)),
      wake_(std::move(wake)),
      socket_(std::move(socket), kFrameToClientBytesMax, [this] { Wake(); }),
      readable_(std::move(readable)),
      writable_(std::move(writable)) {}

bool SocketLink::Wait(absl::FunctionRef<bool(ClientMessage&)> take) {
  const short write_events = socket_.wants_write() ? POLLOUT : 0;
  std::array<pollfd, 2> watched{
      pollfd{.fd = socket_.descriptor(),
             .events = static_cast<short>(POLLIN | write_events),
             .revents = 0},
      pollfd{.fd = wake_.get(), .events = POLLIN, .revents = 0}};
  if (poll(watched.data(), watched.size(), -1) < 0) return errno == EINTR;
  if (watched[1].revents != 0) {
    std::uint64_t count = 0;
    // What matters is only that it is read.
    [[maybe_unused]] const ssize_t bytes =
        read(wake_.get(), &count, sizeof(count));
  }
  if ((watched[0].revents & POLLOUT) != 0) socket_.Flush();
  if ((watched[0].revents & (POLLIN | POLLHUP | POLLERR)) == 0) return true;
  return socket_.Receive([&](absl::string_view frame) {
    std::optional<ClientMessage> message = DecodeFrame(frame);
    return message.has_value() && take(*message);
  });
}

void SocketLink::Wake() {
  const std::uint64_t one = 1;
  // Cannot fail: the counter is far from full.
  [[maybe_unused]] const ssize_t written =
      write(wake_.get(), &one, sizeof(one));
}

}  // namespace hoplite
