// FrameWriter answers one pull on a socket, frame by frame, as the watermark
// of a buffer moves.
//
// Payloads go from the buffer to the socket without a copy, several frames in
// one system call where several are ready. The frames are the buffer's, whose
// size the first pull of an origin fixes; their checksums are the origin's,
// which computes each once.
//
// Thread safety: none; one thread at a time.
// Units: bytes.

#ifndef HOPLITE_NET_TCP_DATA_WRITER_H_
#define HOPLITE_NET_TCP_DATA_WRITER_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "hoplite/net/data_plane.h"
#include "hoplite/wire/frame.h"

namespace hoplite {

class FrameWriter {
 public:
  enum class Outcome {
    kIdle,     // write on when the buffer has more
    kBlocked,  // write on when the socket takes more
    kDone,     // everything has gone, to the end or to a refusal
    kBroken,   // the connection has ended
  };

  // REQUIRES: buffer->size() == request.size, or null: a refusal at once.
  FrameWriter(const PullRequest& request, BufferPtr buffer);

  // Sends what is ready and the socket takes, up to a turn's worth; what is
  // left of a turn counts as blocked. A buffer that has failed is refused.
  Outcome Write(int descriptor);

  // Sends nothing but the rest of a frame that has begun, and a refusal.
  void Refuse() { refused_ = true; }
  // To be called once a second: true where no frame has gone since the last
  // call; then the next Write sends a keep-alive.
  bool RequestKeepAlive();

  std::uint64_t TakePayloadBytesSent() {
    return std::exchange(payload_bytes_sent_, 0);
  }

 private:
  using HeaderBytes = std::array<std::byte, kFrameHeaderBytes>;

  // nullopt: all of it is with the kernel.
  std::optional<Outcome> WriteControl(int descriptor);
  std::optional<Outcome> WriteFrames(int descriptor);
  std::ptrdiff_t SendFrames(int descriptor, std::size_t frame_count,
                            std::size_t& planned);
  std::size_t ReadyFrames(int descriptor);
  void FixFrames(int descriptor);
  FrameHeader MakeHeader(std::uint64_t offset) const;
  std::uint32_t LengthAt(std::uint64_t offset) const;
  void SetControl(FrameKind kind);

  const PullRequest request_;
  const BufferPtr buffer_;
  const std::uint32_t generation_digest_;

  bool refused_ = false;
  bool refusal_said_ = false;
  bool idle_ = false;              // since the last RequestKeepAlive
  std::uint32_t frame_bytes_ = 0;  // 0: not fixed yet
  std::uint64_t next_;             // the offset of the present frame
  std::size_t sent_ = 0;           // of its header and payload
  std::uint64_t payload_bytes_sent_ = 0;
  HeaderBytes control_;  // a keep-alive or refusal, between two frames
  std::size_t control_left_ = 0;
};

}  // namespace hoplite

#endif  // HOPLITE_NET_TCP_DATA_WRITER_H_
