#include "hoplite/net/tcp_data_fold.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "hoplite/base/check.h"
#include "hoplite/net/tcp_data_pull.h"
#include "hoplite/wire/frame.h"

namespace hoplite {
namespace {

// A window holds a few frames, of which a read may fill several at once.
constexpr std::size_t kWindowFrames = 4;
constexpr std::size_t kWindowBytesMin = 64 << 10;
constexpr std::size_t kWindowBytesMax = 256 << 10;
// All windows of one fold, but that each holds a frame.
constexpr std::size_t kWindowBytesInAll = 4 << 20;
// Then the streams of the loop have their turn.
constexpr std::uint64_t kTurnBytes = 512 << 10;
// Apart from the transfers that the core counts out.
constexpr std::uint64_t kFoldTransferBit = std::uint64_t{1} << 63;

std::size_t WindowBytes(std::size_t frame_bytes, std::size_t input_count) {
  const std::size_t wanted =
      std::clamp(kWindowFrames * frame_bytes, kWindowBytesMin, kWindowBytesMax);
  const std::size_t share = std::bit_floor(kWindowBytesInAll / input_count);
  return std::max(std::min(wanted, share), frame_bytes);
}

}  // namespace

// An input that another node has: a pull into a ring of memory. A frame at
// offset o stands at o modulo the ring's size, in one piece, since both sizes
// are powers of two.
class FoldStream::RemoteInput final : private Pull::Owner {
 public:
  RemoteInput(FoldStream& fold, const PullRequest& request, NodeRef server,
              std::size_t window_bytes)
      : fold_(fold),
        pull_(fold.engine_, fold.peers_, request, server, *this),
        window_(window_bytes) {}

  Pull& pull() { return pull_; }
  std::uint64_t received() const { return received_; }
  std::span<const std::byte> Frame(std::uint64_t offset,
                                   std::uint64_t length) const {
    return std::span(window_).subspan(offset % window_.size(), length);
  }

 private:
  std::byte* Place(std::uint64_t offset, std::uint32_t length) override {
    // Only a server whose frames are larger than what was asked for.
    if (received_ == 0 && length > window_.size()) {
      window_.resize(std::bit_ceil(length));
    }
    if (offset + length > fold_.folded_ + window_.size()) return nullptr;
    return &window_[offset % window_.size()];
  }
  void OnFrame(const FrameHeader& header) override {
    received_ = header.offset + header.length;
    fold_.engine_.payload_bytes_received.Add(header.length);
    fold_.engine_.loop.Defer(fold_);
  }
  void OnPullEnded(Pull::End end) override {
    if (end != Pull::End::kDone) fold_.Fail(pull_.server());
  }

  FoldStream& fold_;
  Pull pull_;
  std::vector<std::byte> window_;
  std::uint64_t received_ = 0;
};

std::uint64_t FoldStream::Input::available() const {
  return buffer != nullptr ? buffer->watermark() : remote->received();
}

std::span<const std::byte> FoldStream::Input::Frame(
    std::uint64_t offset, std::uint64_t length) const {
  return buffer != nullptr ? buffer->bytes().subspan(offset, length)
                           : remote->Frame(offset, length);
}

FoldStream::FoldStream(DataEngine& engine, Peers& peers,
                       const command::StartFold& order, BufferPtr output,
                       BufferPtr own, std::vector<BufferPtr> locals,
                       OnEnded on_ended)
    : engine_(engine),
      peers_(peers),
      order_(order),
      spec_{order.op, order.type, order.divisor},
      frame_bytes_(ToFrameBytes(order.frame_bytes)),
      output_(std::move(output)),
      only_follows_(output_ == own && order.inputs.empty()),
      on_ended_(std::move(on_ended)) {
  HOPLITE_CHECK(order_.size > 0 && output_->size() == order_.size);
  HOPLITE_CHECK(only_follows_ || output_->watermark() == 0);
  HOPLITE_CHECK(only_follows_ || output_->SetFrameBytes(frame_bytes_));
  HOPLITE_CHECK(locals.size() == order_.inputs.size());
  AddInput(engine_.self, std::move(own));
  for (std::size_t i = 0; i < order_.inputs.size(); ++i) {
    const command::FoldInput& input = order_.inputs[i];
    if (locals[i] != nullptr) {
      AddInput(input.member, std::move(locals[i]));
    } else {
      AddRemoteInput(input, i);
    }
  }
  frames_.resize(inputs_.size());
}

FoldStream::~FoldStream() { Cut(); }

void FoldStream::AddInput(NodeRef member, BufferPtr buffer) {
  HOPLITE_CHECK(buffer != nullptr && buffer->size() == order_.size);
  Input& input = inputs_.emplace_back();
  input.member = member;
  input.buffer = std::move(buffer);
}

void FoldStream::AddRemoteInput(const command::FoldInput& input,
                                std::size_t index) {
  const PullRequest request = {
      .transfer = TransferId(kFoldTransferBit | order_.fold.value() << 20 |
                             static_cast<std::uint64_t>(index)),
      .key = {.object = order_.target, .position = input.position},
      .generation = input.generation,
      .begin = 0,
      .size = order_.size,
      .frame_bytes = frame_bytes_};
  Input& remote = inputs_.emplace_back();
  remote.member = input.member;
  remote.remote = std::make_unique<RemoteInput>(
      *this, request, input.member,
      WindowBytes(frame_bytes_, order_.inputs.size()));
}

void FoldStream::Start() {
  BufferFollower::Owner& self = *this;
  for (Input& input : inputs_) {
    if (ended_) return;
    if (input.remote != nullptr) {
      input.remote->pull().Start();
    } else if (!input.buffer->complete()) {
      input.follower =
          std::make_unique<BufferFollower>(engine_.loop, input.buffer, self);
    }
  }
  if (!ended_) FoldReady();
}

void FoldStream::Cut() {
  ended_ = true;
  for (Input& input : inputs_) {
    input.follower.reset();
    if (input.remote != nullptr) input.remote->pull().Cut();
  }
}

bool FoldStream::OnTick() {
  bool again = false;
  for (Input& input : inputs_) {
    if (ended_) return false;
    if (input.remote != nullptr) again |= input.remote->pull().OnTick();
  }
  return again;
}

bool FoldStream::PullsFrom(NodeRef member) const {
  return std::any_of(inputs_.begin(), inputs_.end(), [&](const Input& input) {
    return input.remote != nullptr && input.member == member;
  });
}

void FoldStream::FoldReady() {
  if (ended_) return;
  const std::uint64_t from = folded_;
  while (folded_ < order_.size && folded_ - from < kTurnBytes) {
    if (!FoldFrame()) return WaitForInputs();
  }
  if (folded_ == order_.size) return End(NodeRef());
  engine_.loop.Post([weak = weak_from_this()] {
    if (const auto fold = weak.lock()) fold->FoldReady();
  });
}

// False: some input does not have the next frame yet.
bool FoldStream::FoldFrame() {
  const std::uint64_t length =
      std::min<std::uint64_t>(frame_bytes_, order_.size - folded_);
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    if (inputs_[i].available() < folded_ + length) return false;
    frames_[i] = inputs_[i].Frame(folded_, length);
  }
  if (only_follows_) {
    folded_ += length;
    return true;
  }
  const std::span<std::byte> frame = output_->data().subspan(folded_, length);
  Fold(spec_, frame, frames_);
  output_->SetFrameChecksum(folded_ / frame_bytes_, Crc32c(frame));
  folded_ += length;
  output_->Advance(folded_);
  return true;
}

// Some input does not have the next frame: it will call, or it never will.
void FoldStream::WaitForInputs() {
  const std::uint64_t end =
      std::min<std::uint64_t>(folded_ + frame_bytes_, order_.size);
  for (const Input& input : inputs_) {
    if (input.remote != nullptr) {
      input.remote->pull().ResumeReading();
      continue;
    }
    if (input.buffer->complete() || input.buffer->failure().ok()) continue;
    // It may have failed after the frame that counts.
    if (input.available() >= end) continue;
    return Fail(input.member);
  }
}

void FoldStream::End(NodeRef lost) {
  if (ended_) return;
  Cut();
  on_ended_(*this, lost);
}

}  // namespace hoplite
