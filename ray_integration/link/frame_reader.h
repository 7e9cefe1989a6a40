// FrameReader takes the frames of one link out of its socket.
//
// One read takes many frames: it goes into a large buffer that all links of a
// poller share, and the frames are handed over where they lie. Only the rest
// of a frame that has not come whole is kept; a large one is read straight to
// where it is put together, and takes memory only as its bytes come.
//
// Thread safety: none; one thread at a time.
// Units: bytes.

#ifndef HOPLITE_RAY_INTEGRATION_LINK_FRAME_READER_H_
#define HOPLITE_RAY_INTEGRATION_LINK_FRAME_READER_H_

#include <array>
#include <cstddef>
#include <memory>
#include <span>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace hoplite::task {

inline constexpr std::size_t kFrameHeaderBytes = 4;
using FrameHeader = std::array<char, kFrameHeaderBytes>;

// The length of a frame's content, as it stands before it.
// REQUIRES: `content_bytes` are kFrameBytesMax at most.
FrameHeader FrameHeaderOf(std::size_t content_bytes);

class FrameReader {
 public:
  // What gets each frame; false takes no more of this batch.
  using Take = absl::FunctionRef<bool(absl::string_view frame)>;

  // Reads once, without blocking, and hands over every frame that is whole.
  // What `shared` holds may be overwritten between calls.
  //
  // REQUIRES: `shared` has kSharedBytesMin or more.
  // Errors: kUnavailable where the other side has closed the connection;
  // kInvalidArgument where it sends what is no frame.
  absl::Status Receive(int socket, std::span<char> shared, Take take);

  static constexpr std::size_t kSharedBytesMin = 64 << 10;

 private:
  // Behind the kept bytes, into the shared buffer.
  absl::Status ReceiveShared(int socket, std::span<char> shared, Take take);
  // Into the frame itself, and what follows it into the shared buffer.
  absl::Status ReceiveLarge(int socket, std::span<char> shared, Take take);
  // Hands over the frames in `bytes` and keeps the rest.
  absl::Status TakeFrames(absl::string_view bytes, Take take);
  void Keep(absl::string_view rest);
  void Reserve(std::size_t bytes);
  absl::string_view kept() const { return {kept_.get(), kept_bytes_}; }

  // The begin of a frame; less than the whole of it between calls.
  std::unique_ptr<char[]> kept_;
  std::size_t kept_bytes_ = 0;
  std::size_t reserved_bytes_ = 0;
  // Header and content; 0 where the header has not come whole.
  std::size_t frame_bytes_ = 0;
};

}  // namespace hoplite::task

#endif  // HOPLITE_RAY_INTEGRATION_LINK_FRAME_READER_H_
