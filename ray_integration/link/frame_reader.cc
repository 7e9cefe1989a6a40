#include "ray_integration/link/frame_reader.h"

#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "hoplite/base/check.h"
#include "ray_integration/link/link.h"

namespace hoplite::task {
namespace {

// A frame of at least so much is read to where it is put together; for less, a
// copy costs less than another buffer.
constexpr std::size_t kLargeBytes = 16 << 10;

std::uint32_t LengthOf(absl::string_view header) {
  std::uint32_t length = 0;
  for (std::size_t i = kFrameHeaderBytes; i-- > 0;) {
    length = length << 8 | static_cast<unsigned char>(header[i]);
  }
  return length;
}

// What recv has returned: the bytes read; 0 where nothing is there.
absl::StatusOr<std::size_t> Checked(ssize_t count) {
  if (count > 0) return static_cast<std::size_t>(count);
  if (count == 0) {
    return absl::UnavailableError("the other side has closed the connection");
  }
  if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR) return 0;
  return absl::UnavailableError(
      absl::StrCat("the connection has broken: ", std::strerror(errno)));
}

}  // namespace

FrameHeader FrameHeaderOf(std::size_t content_bytes) {
  HOPLITE_CHECK(content_bytes <= kFrameBytesMax);
  FrameHeader header;
  for (char& byte : header) {
    byte = static_cast<char>(content_bytes & 0xff);
    content_bytes >>= 8;
  }
  return header;
}

absl::Status FrameReader::Receive(int socket, std::span<char> shared,
                                  Take take) {
  HOPLITE_CHECK(shared.size() >= kSharedBytesMin);
  return frame_bytes_ >= kLargeBytes ? ReceiveLarge(socket, shared, take)
                                     : ReceiveShared(socket, shared, take);
}

absl::Status FrameReader::ReceiveShared(int socket, std::span<char> shared,
                                        Take take) {
  const std::size_t before = kept_bytes_;
  if (before > 0) std::memcpy(shared.data(), kept_.get(), before);
  const auto count = Checked(recv(socket, shared.data() + before,
                                  shared.size() - before, MSG_DONTWAIT));
  if (!count.ok()) return count.status();
  if (*count == 0) return absl::OkStatus();
  return TakeFrames({shared.data(), before + *count}, take);
}

absl::Status FrameReader::ReceiveLarge(int socket, std::span<char> shared,
                                       Take take) {
  if (kept_bytes_ == reserved_bytes_) {
    Reserve(std::min(frame_bytes_, std::max(2 * kept_bytes_, kSharedBytesMin)));
  }
  const std::size_t room =
      std::min(reserved_bytes_, frame_bytes_) - kept_bytes_;
  // Only a frame that has room to its end may be followed by another.
  const bool ends = kept_bytes_ + room == frame_bytes_;
  std::array<iovec, 2> where = {
      iovec{.iov_base = kept_.get() + kept_bytes_, .iov_len = room},
      iovec{.iov_base = shared.data(), .iov_len = ends ? shared.size() : 0}};
  msghdr message{};
  message.msg_iov = where.data();
  message.msg_iovlen = where.size();
  const auto count = Checked(recvmsg(socket, &message, MSG_DONTWAIT));
  if (!count.ok()) return count.status();
  kept_bytes_ += std::min(*count, room);
  if (kept_bytes_ < frame_bytes_) return absl::OkStatus();
  const auto frame = std::exchange(kept_, nullptr);
  reserved_bytes_ = kept_bytes_ = 0;
  const std::size_t frame_bytes = std::exchange(frame_bytes_, 0);
  if (!take(
          {frame.get() + kFrameHeaderBytes, frame_bytes - kFrameHeaderBytes})) {
    return absl::OkStatus();
  }
  return TakeFrames({shared.data(), *count - room}, take);
}

absl::Status FrameReader::TakeFrames(absl::string_view bytes, Take take) {
  kept_bytes_ = frame_bytes_ = 0;
  while (bytes.size() >= kFrameHeaderBytes) {
    const std::size_t length = LengthOf(bytes);
    if (length > kFrameBytesMax) {
      return absl::InvalidArgumentError(
          absl::StrCat("the other side announces a frame of ", length,
                       " bytes, and the most is ", kFrameBytesMax,
                       ": it does not speak this protocol"));
    }
    if (bytes.size() - kFrameHeaderBytes < length) break;
    if (!take(bytes.substr(kFrameHeaderBytes, length))) {
      return absl::OkStatus();
    }
    bytes.remove_prefix(kFrameHeaderBytes + length);
  }
  Keep(bytes);
  return absl::OkStatus();
}

void FrameReader::Keep(absl::string_view rest) {
  if (rest.empty()) return;
  Reserve(rest.size());
  std::memcpy(kept_.get(), rest.data(), rest.size());
  kept_bytes_ = rest.size();
  if (rest.size() >= kFrameHeaderBytes) {
    frame_bytes_ = kFrameHeaderBytes + LengthOf(rest);
  }
}

void FrameReader::Reserve(std::size_t bytes) {
  if (bytes <= reserved_bytes_) return;
  auto larger = std::make_unique_for_overwrite<char[]>(bytes);
  if (kept_bytes_ > 0) std::memcpy(larger.get(), kept_.get(), kept_bytes_);
  kept_ = std::move(larger);
  reserved_bytes_ = bytes;
}

}  // namespace hoplite::task
