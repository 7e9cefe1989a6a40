#include "ray_integration/link/frame_writer.h"

#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "hoplite/base/check.h"
#include "ray_integration/link/frame_reader.h"

namespace hoplite::task {
namespace {

// More pieces than this are put together first.
constexpr std::size_t kPiecesMax = 15;
// A frame of so much is copied rather than sent in parts.
constexpr std::size_t kSmallBytes = 512;
// So much that is held back is worth a write of its own.
constexpr std::size_t kHeldBytesMax = 128 << 10;
// A buffer larger than this is given back when it is empty.
constexpr std::size_t kSpareBytesMax = 256 << 10;

constexpr std::uint32_t kReadable = EPOLLIN;

void Empty(std::string& buffer) {
  buffer.clear();
  if (buffer.capacity() > kSpareBytesMax) buffer.shrink_to_fit();
}

// Send, of parts that are put together for less than a vector costs.
// REQUIRES: kSmallBytes at most.
ssize_t WriteSmall(int socket, std::span<const absl::string_view> parts) {
  std::array<char, kSmallBytes> together;
  std::size_t bytes = 0;
  for (const absl::string_view part : parts) {
    bytes += part.copy(together.data() + bytes, part.size());
  }
  return send(socket, together.data(), bytes, MSG_DONTWAIT | MSG_NOSIGNAL);
}

// The same, from where the parts are.
ssize_t WriteLarge(int socket, std::span<const absl::string_view> parts) {
  std::array<iovec, 1 + kPiecesMax> vectors;
  std::ranges::transform(parts, vectors.begin(), [](absl::string_view part) {
    // The kernel only reads it.
    return iovec{.iov_base = const_cast<char*>(part.data()),
                 .iov_len = part.size()};
  });
  msghdr message{};
  message.msg_iov = vectors.data();
  message.msg_iovlen = parts.size();
  return sendmsg(socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
}

}  // namespace

absl::Status FrameWriter::Stand(FileDescriptor socket,
                                EventSet::Number number) {
  {
    MutexLock lock(mutex_);
    if (state_ != State::kConnecting) return absl::OkStatus();
    socket_ = std::move(socket);
    number_ = number;
    state_ = State::kIdle;
    const absl::Status watched =
        events_.Watch(socket_.get(), number, kReadable);
    if (!watched.ok()) {
      DropAll();
      state_ = State::kBroken;
      return watched;
    }
  }
  Flush();
  return absl::OkStatus();
}

bool FrameWriter::Send(std::span<const absl::string_view> pieces, bool hold) {
  std::size_t bytes = 0;
  for (const absl::string_view piece : pieces) bytes += piece.size();
  bool direct = false;
  {
    MutexLock lock(mutex_);
    if (closing_ || state_ >= State::kBroken) return false;
    const bool first = collected_.empty();
    unsent_bytes_ += kFrameHeaderBytes + bytes;
    const bool idle = state_ == State::kIdle;
    direct = idle && first && !hold && pieces.size() <= kPiecesMax;
    if (!direct) Collect(pieces, bytes);
    if (hold && collected_.size() < kHeldBytesMax) return idle && first;
    if (!BeginWriting()) return false;
  }
  if (direct) {
    WriteDirectly(pieces, kFrameHeaderBytes + bytes);
  } else {
    WriteCollected();
  }
  return false;
}

void FrameWriter::Flush() {
  {
    MutexLock lock(mutex_);
    if (collected_.empty() || !BeginWriting()) return;
  }
  WriteCollected();
}

void FrameWriter::OnWritable() {
  {
    MutexLock lock(mutex_);
    if (state_ != State::kFull) return;
    events_.Change(socket_.get(), number_, kReadable);
    state_ = State::kWriting;
  }
  WriteCollected();
}

void FrameWriter::Close() {
  {
    MutexLock lock(mutex_);
    closing_ = true;
  }
  Flush();
}

void FrameWriter::End() {
  MutexLock lock(mutex_);
  if (state_ == State::kEnded) return;
  if (socket_) {
    events_.Unwatch(socket_.get());
    // The other side hears of it now, even if a fork has the socket too.
    shutdown(socket_.get(), SHUT_RDWR);
  }
  if (state_ != State::kWriting) {
    DropAll();
    socket_.Close();
  }
  unsent_bytes_ = 0;
  state_ = State::kEnded;
}

std::size_t FrameWriter::unsent_bytes() const {
  MutexLock lock(mutex_);
  return unsent_bytes_;
}

void FrameWriter::Collect(std::span<const absl::string_view> pieces,
                          std::size_t bytes) {
  const FrameHeader header = FrameHeaderOf(bytes);
  collected_.append(header.data(), header.size());
  for (const absl::string_view piece : pieces) {
    collected_.append(piece.data(), piece.size());
  }
}

bool FrameWriter::BeginWriting() {
  if (state_ != State::kIdle) return false;
  state_ = State::kWriting;
  return true;
}

void FrameWriter::WriteDirectly(std::span<const absl::string_view> pieces,
                                std::size_t frame_bytes) {
  const FrameHeader header = FrameHeaderOf(frame_bytes - kFrameHeaderBytes);
  std::array<absl::string_view, 1 + kPiecesMax> parts;
  parts[0] = {header.data(), header.size()};
  std::ranges::copy(pieces, parts.begin() + 1);
  const auto used = std::span(parts).first(1 + pieces.size());
  const ssize_t sent = frame_bytes <= kSmallBytes
                           ? WriteSmall(socket_.get(), used)
                           : WriteLarge(socket_.get(), used);
  const int error = sent < 0 ? errno : 0;
  // What is left of the pieces is copied: they are the caller's.
  std::size_t skip = sent < 0 ? 0 : static_cast<std::size_t>(sent);
  for (const absl::string_view part : used) {
    const std::size_t gone = std::min(skip, part.size());
    writing_.append(part.data() + gone, part.size() - gone);
    skip -= gone;
  }
  if (AfterWrite(sent < 0 ? 0 : static_cast<std::size_t>(sent), error)) {
    WriteCollected();
  }
}

void FrameWriter::WriteCollected() {
  for (;;) {
    if (written_bytes_ == writing_.size()) {
      Empty(writing_);
      written_bytes_ = 0;
      MutexLock lock(mutex_);
      writing_.swap(collected_);
    }
    const ssize_t sent =
        send(socket_.get(), writing_.data() + written_bytes_,
             writing_.size() - written_bytes_, MSG_DONTWAIT | MSG_NOSIGNAL);
    const int error = sent < 0 ? errno : 0;
    const std::size_t bytes = sent < 0 ? 0 : static_cast<std::size_t>(sent);
    written_bytes_ += bytes;
    if (!AfterWrite(bytes, error)) return;
  }
}

bool FrameWriter::AfterWrite(std::size_t sent, int error) {
  const bool full = error == EAGAIN || error == EWOULDBLOCK;
  MutexLock lock(mutex_);
  if (state_ == State::kEnded) {  // meanwhile
    DropAll();
    socket_.Close();
    return false;
  }
  unsent_bytes_ -= sent;
  if (full) {
    state_ = State::kFull;
    events_.Change(socket_.get(), number_, kReadable | EPOLLOUT);
    return false;
  }
  if (error != 0 && error != EINTR) {
    state_ = State::kBroken;
    DropAll();
    shutdown(socket_.get(), SHUT_RDWR);
    return false;
  }
  if (unsent_bytes_ > 0) return true;
  Empty(writing_);
  written_bytes_ = 0;
  state_ = State::kIdle;
  return false;
}

void FrameWriter::DropAll() {
  std::string().swap(collected_);
  std::string().swap(writing_);
  written_bytes_ = 0;
  unsent_bytes_ = 0;
}

}  // namespace hoplite::task
