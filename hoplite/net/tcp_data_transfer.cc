#include "hoplite/net/tcp_data_transfer.h"

#include <algorithm>
#include <utility>

#include "hoplite/base/check.h"
#include "hoplite/wire/frame.h"

namespace hoplite {
namespace {

// What is smaller fits into the buckets on its way and tells nothing.
constexpr std::uint64_t kMeasuredBytesMin = 64 << 10;

PullRequest MakeRequest(const command::StartTransfer& order,
                        const ObjectBuffer& buffer) {
  return {.transfer = order.transfer,
          .key = order.key,
          .generation = order.generation,
          .begin = buffer.watermark(),
          .size = buffer.size(),
          .frame_bytes = ToFrameBytes(order.frame_bytes)};
}

}  // namespace

Transfer::Transfer(DataEngine& engine, Peers& peers,
                   const command::StartTransfer& order, BufferPtr buffer,
                   std::function<void(Transfer&, Pull::End)> on_ended)
    : engine_(engine),
      buffer_(std::move(buffer)),
      on_ended_(std::move(on_ended)),
      pull_(engine, peers, MakeRequest(order, *buffer_), order.server, *this) {}

std::byte* Transfer::Place(std::uint64_t offset, std::uint32_t length) {
  if (offset >= buffer_->watermark()) return buffer_->data().data() + offset;
  overlap_.resize(length);
  return overlap_.data();
}

void Transfer::OnFrame(const FrameHeader& header) {
  const std::uint64_t watermark = buffer_->watermark();
  const std::uint64_t end = header.offset + header.length;
  std::uint64_t gained = header.length;
  if (header.offset < watermark) {
    HOPLITE_CHECK(watermark < end);
    gained = end - watermark;
    std::copy(overlap_.end() - static_cast<std::ptrdiff_t>(gained),
              overlap_.end(), buffer_->data().data() + watermark);
  }
  // False where the first server had frames of another size.
  if (buffer_->SetFrameBytes(header.frame_bytes)) {
    buffer_->SetFrameChecksum(header.offset / header.frame_bytes,
                              header.checksum);
  }
  engine_.payload_bytes_received.Add(header.length);
  if (first_frame_at_ == 0) {
    first_frame_at_ = SteadySeconds();
  } else {
    bytes_after_first_frame_ += header.length;
  }
  buffer_->Advance(end);
}

double Transfer::Bandwidth() const {
  if (pull_.starved() || bytes_after_first_frame_ == 0) return 0;
  if (pull_.request().size - pull_.request().begin < kMeasuredBytesMin) {
    return 0;
  }
  const double seconds = SteadySeconds() - first_frame_at_;
  return seconds > 0 ? static_cast<double>(bytes_after_first_frame_) / seconds
                     : 0;
}

}  // namespace hoplite
