#include "hoplite/net/tcp_data_writer.h"

#include <sys/uio.h>

#include <algorithm>
#include <span>
#include <utility>

#include "hoplite/base/check.h"
#include "hoplite/net/tcp_data_socket.h"

namespace hoplite {
namespace {

constexpr std::size_t kBatchFrames = 16;
// One write hands over so much, or one frame.
constexpr std::size_t kWriteBytes = 256 << 10;
// Then the other streams of the loop have their turn.
constexpr std::size_t kTurnBytes = 256 << 10;

}  // namespace

FrameWriter::FrameWriter(const PullRequest& request, BufferPtr buffer)
    : request_(request),
      buffer_(std::move(buffer)),
      generation_digest_(GenerationDigest(request.generation)),
      refused_(buffer_ == nullptr),
      next_(request.begin) {
  HOPLITE_CHECK(refused_ || buffer_->size() == request_.size);
}

FrameWriter::Outcome FrameWriter::Write(int descriptor) {
  for (std::size_t turn = 0; turn < kTurnBytes;) {
    if (const auto ended = WriteControl(descriptor)) return *ended;
    if (refusal_said_) return Outcome::kDone;
    if (refused_ && sent_ == 0) {
      refusal_said_ = true;
      SetControl(FrameKind::kRefusal);
      continue;
    }
    const std::uint64_t from = next_;
    if (const auto ended = WriteFrames(descriptor)) return *ended;
    turn += next_ - from;
  }
  return Outcome::kBlocked;
}

bool FrameWriter::RequestKeepAlive() {
  if (!std::exchange(idle_, true)) return false;
  if (sent_ != 0 || control_left_ != 0 || refused_) return false;
  SetControl(FrameKind::kKeepAlive);
  return true;
}

void FrameWriter::SetControl(FrameKind kind) {
  EncodeFrameHeader({.kind = kind,
                     .transfer = request_.transfer,
                     .generation_digest = generation_digest_},
                    control_);
  control_left_ = control_.size();
}

std::optional<FrameWriter::Outcome> FrameWriter::WriteControl(int descriptor) {
  if (control_left_ == 0) return std::nullopt;
  iovec part{control_.data() + control_.size() - control_left_, control_left_};
  const std::ptrdiff_t count = Send(descriptor, {&part, 1});
  if (count < 0) return Outcome::kBroken;
  control_left_ -= static_cast<std::size_t>(count);
  if (control_left_ > 0) return Outcome::kBlocked;
  return std::nullopt;
}

std::optional<FrameWriter::Outcome> FrameWriter::WriteFrames(int descriptor) {
  const std::size_t frame_count = ReadyFrames(descriptor);
  if (frame_count == 0) {
    if (next_ == request_.size) return Outcome::kDone;
    if (buffer_->failure().ok()) return Outcome::kIdle;
    refused_ = true;
    return std::nullopt;
  }
  std::size_t planned = 0;
  const std::ptrdiff_t count = SendFrames(descriptor, frame_count, planned);
  if (count < 0) return Outcome::kBroken;
  if (count > 0) idle_ = false;
  sent_ += static_cast<std::size_t>(count);
  while (sent_ > 0) {
    const std::uint32_t length = LengthAt(next_);
    if (sent_ < kFrameHeaderBytes + length) break;
    sent_ -= kFrameHeaderBytes + length;
    next_ += length;
    payload_bytes_sent_ += length;
  }
  if (static_cast<std::size_t>(count) < planned) return Outcome::kBlocked;
  return std::nullopt;
}

// The next frames, from where the first one has been left, in one call. TCP
// makes one piece of them, and the receiver gets a piece when all of it has
// come. To send each by itself has been measured: with little processor to
// spare the packets cost more than the lumps.
std::ptrdiff_t FrameWriter::SendFrames(int descriptor, std::size_t frame_count,
                                       std::size_t& planned) {
  std::array<HeaderBytes, kBatchFrames> headers;
  std::array<iovec, 2 * kBatchFrames> parts;
  std::uint64_t offset = next_;
  std::size_t skip = sent_;
  for (std::size_t i = 0; i < frame_count; ++i) {
    const FrameHeader header = MakeHeader(offset);
    EncodeFrameHeader(header, headers[i]);
    const std::size_t header_skip = std::min(skip, kFrameHeaderBytes);
    const std::size_t payload_skip = skip - header_skip;
    std::byte* const payload = buffer_->data().data() + offset;
    parts[2 * i] = {headers[i].data() + header_skip,
                    kFrameHeaderBytes - header_skip};
    parts[2 * i + 1] = {payload + payload_skip, header.length - payload_skip};
    planned += kFrameHeaderBytes + header.length - skip;
    offset += header.length;
    skip = 0;
  }
  return Send(descriptor, std::span(parts).first(2 * frame_count));
}

// How many frames can be sent in one call now.
std::size_t FrameWriter::ReadyFrames(int descriptor) {
  if (refused_ && sent_ > 0) return 1;
  const std::uint64_t watermark = buffer_->watermark();
  if (watermark <= next_) return 0;
  if (frame_bytes_ == 0) FixFrames(descriptor);
  std::size_t count = 0;
  std::uint64_t end = next_;
  while (count < kBatchFrames && end < request_.size) {
    end += LengthAt(end);
    if (end > watermark || (count > 0 && end - next_ > kWriteBytes)) break;
    ++count;
  }
  return count;
}

// Not before the first bytes are there: a relay's frames are its server's.
void FrameWriter::FixFrames(int descriptor) {
  buffer_->SetFrameBytes(request_.frame_bytes);
  frame_bytes_ = static_cast<std::uint32_t>(buffer_->frame_bytes());
  next_ -= next_ % frame_bytes_;
  AllowUnsent(descriptor, frame_bytes_);
}

FrameHeader FrameWriter::MakeHeader(std::uint64_t offset) const {
  FrameHeader header;
  header.transfer = request_.transfer;
  header.generation_digest = generation_digest_;
  header.offset = offset;
  header.frame_bytes = frame_bytes_;
  header.length = LengthAt(offset);
  const std::uint64_t index = offset / frame_bytes_;
  if (const auto checksum = buffer_->frame_checksum(index)) {
    header.checksum = *checksum;
  } else {
    header.checksum = Crc32c(buffer_->bytes().subspan(offset, header.length));
    buffer_->SetFrameChecksum(index, header.checksum);
  }
  return header;
}

std::uint32_t FrameWriter::LengthAt(std::uint64_t offset) const {
  return static_cast<std::uint32_t>(
      std::min<std::uint64_t>(frame_bytes_, request_.size - offset));
}

}  // namespace hoplite
