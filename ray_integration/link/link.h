// Link is one end of a connection between two processes; it carries frames of
// bytes, in order, each whole or not at all.
//
// Over a Unix socket or TCP, a frame is its length (four bytes, little-endian)
// and its content. A link comes from a Poller (poller.h), which calls the
// link's handler. Whatever the other side sends, a link ends with one OnClosed
// at worst.
//
// Not responsible for: what the frames mean; making a connection anew.
// Thread safety: Link is thread-safe. Handlers are called by one thread at a
// time, never under a lock of the link or the poller.
// Units: bytes.

#ifndef HOPLITE_RAY_INTEGRATION_LINK_LINK_H_
#define HOPLITE_RAY_INTEGRATION_LINK_LINK_H_

#include <cstddef>
#include <memory>
#include <span>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace hoplite::task {

// A frame's content is at most so long. More is the other side's mistake, and
// ends the link before any memory is taken for it.
inline constexpr std::size_t kFrameBytesMax = std::size_t{64} << 20;

class Link {
 public:
  virtual ~Link() = default;

  // Sends one frame: the pieces, in order, make its content. Never blocks, and
  // keeps nothing of the pieces' memory.
  //
  // Writes at once what the socket takes, on the calling thread; the rest
  // leaves when there is room. While another thread writes, that one takes the
  // frame along, so that frames collect and leave in one write. What handlers
  // send leaves in one write after OnBatchEnd. Before the connection stands,
  // frames are kept. Nothing happens on a closed link.
  //
  // REQUIRES: the pieces have kFrameBytesMax bytes at most together.
  virtual void Send(std::span<const absl::string_view> pieces) = 0;
  void Send(absl::string_view frame) {
    Send(std::span<const absl::string_view>(&frame, 1));
  }

  // Ends the connection; frames that the socket has not taken are lost.
  // OnClosed follows, with kCancelled, on a polling thread; at most the rest
  // of one batch of frames is handed over before.
  virtual void Close() = 0;

  // What waits for room in the socket. It has no bound here: whoever sends
  // more than answers come back for looks at it.
  virtual std::size_t unsent_bytes() const = 0;
};

using LinkPtr = std::shared_ptr<Link>;

// What happens on a link. The link keeps it until OnClosed has returned. Its
// methods may call anything but Poller::Wait and Poller::Stop.
class LinkHandler {
 public:
  virtual ~LinkHandler() = default;

  // `frame` may be read during the call only.
  virtual void OnFrame(Link& link, absl::string_view frame) = 0;

  // All frames that were there have been handed over.
  virtual void OnBatchEnd(Link& /*link*/) {}

  // Exactly once, last. `why`: kCancelled after Close or Poller::Stop;
  // kUnavailable where the other side has ended, cannot be reached or
  // refuses; kInvalidArgument for an address that is none, and for garbage;
  // kDeadlineExceeded where a connection does not come about in time.
  virtual void OnClosed(Link& link, const absl::Status& why) = 0;
};

}  // namespace hoplite::task

#endif  // HOPLITE_RAY_INTEGRATION_LINK_LINK_H_
