// FrameReader takes the answer to one pull from a socket, frame by frame.
//
// Payloads go from the socket to where they belong without a copy: since a
// stream's frames follow each other, the next headers and payloads have known
// places, and one system call fills several of them. Where the server sends
// something else (a keep-alive, frames of another size), what has come to a
// wrong place by that is moved.
//
//   what is read: [header][payload of frame k][header][payload of k + 1]...
//
// Thread safety: none; one thread at a time.
// Units: bytes.

#ifndef HOPLITE_NET_TCP_DATA_READER_H_
#define HOPLITE_NET_TCP_DATA_READER_H_

#include <sys/uio.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "hoplite/wire/frame.h"

namespace hoplite {

class FrameReader {
 public:
  class Sink {
   public:
    // Where the payload of a frame may be written, now and later, until the
    // frame is there; null: no room yet. Unverified bytes may be written
    // there, and to the places of frames that never come.
    virtual std::byte* Place(std::uint64_t offset, std::uint32_t length) = 0;
    // The next frame is at its place, and verified.
    virtual void OnFrame(const FrameHeader& header) = 0;

   protected:
    ~Sink() = default;
  };

  enum class Outcome {
    kWaits,    // read on when there is something to read
    kNoRoom,   // read on when the sink has room
    kDone,     // everything has come
    kRefused,  // the server will not send more
    kBroken,   // the connection has ended, or makes no sense
    kCorrupt,  // a checksum is wrong
  };

  // REQUIRES: request.begin < request.size. The sink outlives this.
  FrameReader(const PullRequest& request, Sink& sink);

  // Takes what is there, up to a turn's worth.
  Outcome Read(int descriptor);

  // False: the server has not said anything yet.
  bool heard() const { return heard_; }
  // True: it has had nothing to send for a second, once or more.
  bool starved() const { return starved_; }

 private:
  static constexpr std::size_t kBatchFrames = 8;

  enum class Step { kGoOn, kUnforeseen, kRefused, kBroken, kCorrupt };
  // A frame that is expected. Without a place only its header is read.
  struct Slot {
    std::uint64_t offset = 0;
    std::uint32_t length = 0;
    std::byte* place = nullptr;
  };
  using HeaderBytes = std::array<std::byte, kFrameHeaderBytes>;

  void PlanSlots();
  void PlanParts();
  std::size_t TakeMisplaced();
  Step Consume(std::size_t count);
  Step OnHeader(const Slot& slot, const HeaderBytes& bytes);
  Step OnData(const Slot& slot);
  Step OnPayload(const Slot& slot);
  void PutBack(std::size_t slot_index, std::size_t count);

  const PullRequest request_;
  const std::uint32_t generation_digest_;
  Sink& sink_;

  bool heard_ = false;
  bool starved_ = false;
  bool any_frame_ = false;
  std::uint32_t frame_bytes_;  // the server's, once a frame is there
  std::uint64_t next_;         // the offset of the present frame
  std::size_t got_ = 0;        // of the present frame's header and payload
  FrameHeader header_;         // the present frame's, once all of it is there

  // What the present read fills.
  std::array<Slot, kBatchFrames> slots_;
  std::array<HeaderBytes, kBatchFrames> headers_;
  std::size_t slot_count_ = 0;
  std::array<iovec, 2 * kBatchFrames> parts_;
  std::size_t part_count_ = 0;
  std::size_t planned_bytes_ = 0;
  std::vector<std::byte> misplaced_;  // to be read again, before the socket
};

}  // namespace hoplite

#endif  // HOPLITE_NET_TCP_DATA_READER_H_
