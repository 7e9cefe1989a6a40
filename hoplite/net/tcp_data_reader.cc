#include "hoplite/net/tcp_data_reader.h"

#include <algorithm>
#include <cstring>

#include "hoplite/base/check.h"
#include "hoplite/net/tcp_data_socket.h"

namespace hoplite {
namespace {

// One read asks for so much (or one frame): it stays in cache until it is
// forwarded.
constexpr std::size_t kReadBytes = 128 << 10;
// Then the other streams of the loop have their turn.
constexpr std::size_t kTurnBytes = 256 << 10;

}  // namespace

FrameReader::FrameReader(const PullRequest& request, Sink& sink)
    : request_(request),
      generation_digest_(GenerationDigest(request.generation)),
      sink_(sink),
      frame_bytes_(request.frame_bytes),
      next_(request.begin - request.begin % request.frame_bytes) {
  HOPLITE_CHECK(request.begin < request.size);
}

FrameReader::Outcome FrameReader::Read(int descriptor) {
  for (std::size_t turn = 0; turn < kTurnBytes;) {
    PlanSlots();
    if (slot_count_ == 0) return Outcome::kNoRoom;
    PlanParts();
    std::size_t count = TakeMisplaced();
    const bool from_socket = count == 0;
    if (from_socket) {
      const std::ptrdiff_t received =
          Receive(descriptor, std::span(parts_).first(part_count_));
      if (received < 0) return Outcome::kBroken;
      if (received == 0) return Outcome::kWaits;
      count = static_cast<std::size_t>(received);
      heard_ = true;
    }
    turn += count;
    switch (Consume(count)) {
      case Step::kGoOn:
      case Step::kUnforeseen:
        break;
      case Step::kRefused:
        return Outcome::kRefused;
      case Step::kBroken:
        return Outcome::kBroken;
      case Step::kCorrupt:
        return Outcome::kCorrupt;
    }
    if (next_ == request_.size) {
      return misplaced_.empty() ? Outcome::kDone : Outcome::kBroken;
    }
    // Less than asked for: there is no more now.
    if (from_socket && count < planned_bytes_ && misplaced_.empty()) {
      return Outcome::kWaits;
    }
  }
  return Outcome::kWaits;
}

// The present frame, and as many after it as fit into one read.
void FrameReader::PlanSlots() {
  slot_count_ = 0;
  std::size_t bytes = 0;
  std::uint64_t offset = next_;
  while (slot_count_ < kBatchFrames && offset < request_.size) {
    Slot& slot = slots_[slot_count_];
    slot.offset = offset;
    slot.length = static_cast<std::uint32_t>(
        std::min<std::uint64_t>(frame_bytes_, request_.size - offset));
    slot.place = sink_.Place(offset, slot.length);
    if (slot.place == nullptr) return;
    bytes += slot.length;
    ++slot_count_;
    offset += slot.length;
    if (slot_count_ > 1 && bytes > kReadBytes) {
      slot.place = nullptr;
      return;
    }
  }
}

void FrameReader::PlanParts() {
  part_count_ = 0;
  planned_bytes_ = 0;
  const auto add = [this](std::byte* place, std::size_t length) {
    if (length == 0) return;
    parts_[part_count_++] = {place, length};
    planned_bytes_ += length;
  };
  std::size_t got = got_;
  for (std::size_t i = 0; i < slot_count_; ++i) {
    const std::size_t header = std::min(got, kFrameHeaderBytes);
    add(headers_[i].data() + header, kFrameHeaderBytes - header);
    if (slots_[i].place == nullptr) break;
    const std::size_t payload = got - header;
    add(slots_[i].place + payload, slots_[i].length - payload);
    got = 0;
  }
}

// Fills the parts from what came to a wrong place before.
std::size_t FrameReader::TakeMisplaced() {
  std::size_t taken = 0;
  for (std::size_t i = 0; i < part_count_ && taken < misplaced_.size(); ++i) {
    const std::size_t length =
        std::min(parts_[i].iov_len, misplaced_.size() - taken);
    std::memcpy(parts_[i].iov_base, &misplaced_[taken], length);
    taken += length;
  }
  misplaced_.erase(misplaced_.begin(),
                   misplaced_.begin() + static_cast<std::ptrdiff_t>(taken));
  return taken;
}

// `count` bytes have come into the parts.
FrameReader::Step FrameReader::Consume(std::size_t count) {
  std::size_t i = 0;
  while (count > 0) {
    const Slot& slot = slots_[i];
    if (got_ < kFrameHeaderBytes) {
      const std::size_t taken = std::min(count, kFrameHeaderBytes - got_);
      got_ += taken;
      count -= taken;
      if (got_ < kFrameHeaderBytes) break;
      const Step step = OnHeader(slot, headers_[i]);
      if (step == Step::kUnforeseen) PutBack(i, count);
      if (step != Step::kGoOn) return step;
    }
    const std::size_t taken =
        std::min(count, kFrameHeaderBytes + slot.length - got_);
    got_ += taken;
    count -= taken;
    if (got_ < kFrameHeaderBytes + slot.length) break;
    if (OnPayload(slot) == Step::kCorrupt) return Step::kCorrupt;
    ++i;
  }
  if (i > 0 && got_ > 0) headers_[0] = headers_[i];
  return Step::kGoOn;
}

FrameReader::Step FrameReader::OnHeader(const Slot& slot,
                                        const HeaderBytes& bytes) {
  const std::optional<FrameHeader> header = DecodeFrameHeader(bytes);
  if (!header.has_value()) return Step::kCorrupt;
  if (header->transfer != request_.transfer ||
      header->generation_digest != generation_digest_) {
    return Step::kBroken;
  }
  header_ = *header;
  switch (header->kind) {
    case FrameKind::kData:
      return OnData(slot);
    case FrameKind::kKeepAlive:
      starved_ = true;
      got_ = 0;
      return Step::kUnforeseen;
    case FrameKind::kRefusal:
      return Step::kRefused;
  }
  return Step::kBroken;
}

FrameReader::Step FrameReader::OnData(const Slot& slot) {
  const std::uint32_t frame_bytes = header_.frame_bytes;
  if (any_frame_) {
    if (frame_bytes != frame_bytes_) return Step::kBroken;
  } else if (frame_bytes != frame_bytes_) {
    frame_bytes_ = frame_bytes;
    next_ = request_.begin - request_.begin % frame_bytes;
  }
  if (header_.offset != next_ ||
      header_.length !=
          std::min<std::uint64_t>(frame_bytes, request_.size - next_)) {
    return Step::kBroken;
  }
  any_frame_ = true;
  return slot.offset == header_.offset && slot.length == header_.length
             ? Step::kGoOn
             : Step::kUnforeseen;
}

FrameReader::Step FrameReader::OnPayload(const Slot& slot) {
  if (Crc32c({slot.place, slot.length}) != header_.checksum) {
    return Step::kCorrupt;
  }
  next_ += slot.length;
  got_ = 0;
  sink_.OnFrame(header_);
  return Step::kGoOn;
}

// The `count` bytes after the header of a slot belong somewhere else.
void FrameReader::PutBack(std::size_t slot_index, std::size_t count) {
  std::vector<std::byte> bytes;
  bytes.reserve(count + misplaced_.size());
  const auto take = [&](const std::byte* place, std::size_t length) {
    length = std::min(length, count - bytes.size());
    bytes.insert(bytes.end(), place, place + length);
  };
  for (std::size_t i = slot_index; i < slot_count_; ++i) {
    if (i > slot_index) take(headers_[i].data(), kFrameHeaderBytes);
    if (slots_[i].place != nullptr) take(slots_[i].place, slots_[i].length);
  }
  bytes.insert(bytes.end(), misplaced_.begin(), misplaced_.end());
  misplaced_.swap(bytes);
}

}  // namespace hoplite
