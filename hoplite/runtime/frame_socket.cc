#include "hoplite/runtime/frame_socket.h"

#include <fcntl.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <utility>

namespace hoplite {
namespace {

constexpr std::size_t kLengthBytes = 4;
constexpr std::size_t kUnsentBytesMax = 2 * (std::size_t{64} << 20);

std::uint32_t LengthOf(absl::string_view header) {
  std::uint32_t length = 0;
  for (std::size_t i = 0; i < kLengthBytes; ++i) {
    length |= static_cast<std::uint32_t>(static_cast<unsigned char>(header[i]))
              << (8 * i);
  }
  return length;
}

}  // namespace

FrameSocket::FrameSocket(FileDescriptor descriptor,
                         std::uint32_t frame_bytes_max,
                         std::function<void()> wants_write)
    : descriptor_(std::move(descriptor)),
      frame_bytes_max_(frame_bytes_max),
      wants_write_(std::move(wants_write)) {
  fcntl(descriptor_.get(), F_SETFL,
        fcntl(descriptor_.get(), F_GETFL) | O_NONBLOCK);
}

bool FrameSocket::Send(std::string frame) {
  {
    MutexLock lock(mutex_);
    if (ended_) return false;
    const bool waited = !unsent_.empty();
    if (unsent_.size() + frame.size() > kUnsentBytesMax) ended_ = true;
    if (waited) {
      unsent_ += frame;
    } else {
      unsent_ = std::move(frame);
    }
    if (!ended_ && (waited || (WriteSome() && unsent_.empty()))) return true;
    if (ended_) shutdown(descriptor_.get(), SHUT_RDWR);
    if (ended_) return false;
  }
  wants_write_();
  return true;
}

void FrameSocket::ShutDown() {
  MutexLock lock(mutex_);
  ended_ = true;
  shutdown(descriptor_.get(), SHUT_RDWR);
}

bool FrameSocket::WriteSome() {
  std::size_t sent = 0;
  while (sent < unsent_.size()) {
    const ssize_t count =
        send(descriptor_.get(), unsent_.data() + sent, unsent_.size() - sent,
             MSG_DONTWAIT | MSG_NOSIGNAL);
    if (count >= 0) {
      sent += static_cast<std::size_t>(count);
      continue;
    }
    if (errno == EINTR) continue;
    if (errno != EAGAIN && errno != EWOULDBLOCK) ended_ = true;
    break;
  }
  unsent_.erase(0, sent);
  return !ended_;
}

bool FrameSocket::Flush() {
  MutexLock lock(mutex_);
  WriteSome();
  if (!ended_) return !unsent_.empty();
  shutdown(descriptor_.get(), SHUT_RDWR);
  return false;
}

bool FrameSocket::wants_write() const {
  MutexLock lock(mutex_);
  return !ended_ && !unsent_.empty();
}

bool FrameSocket::Receive(absl::FunctionRef<bool(absl::string_view)> take) {
  std::array<char, 64 << 10> chunk;
  for (;;) {
    const ssize_t count =
        recv(descriptor_.get(), chunk.data(), chunk.size(), MSG_DONTWAIT);
    if (count > 0) {
      received_.append(chunk.data(), static_cast<std::size_t>(count));
      if (!TakeFrames(take)) return false;
      if (static_cast<std::size_t>(count) < chunk.size()) return true;
      continue;
    }
    if (count == 0) return false;
    if (errno == EINTR) continue;
    return errno == EAGAIN || errno == EWOULDBLOCK;
  }
}

bool FrameSocket::TakeFrames(absl::FunctionRef<bool(absl::string_view)> take) {
  absl::string_view rest = received_;
  while (rest.size() >= kLengthBytes) {
    const std::uint32_t length = LengthOf(rest);
    if (length > frame_bytes_max_) return false;
    if (rest.size() - kLengthBytes < length) break;
    if (!take(rest.substr(kLengthBytes, length))) return false;
    rest.remove_prefix(kLengthBytes + length);
  }
  received_.erase(0, received_.size() - rest.size());
  return true;
}

}  // namespace hoplite
