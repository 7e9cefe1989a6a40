// Peers of a data plane that speak its protocol by hand, and so can break it.
//
// Thread safety: none; one thread at a time.

#ifndef HOPLITE_NET_TCP_DATA_RAW_PEER_H_
#define HOPLITE_NET_TCP_DATA_RAW_PEER_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "hoplite/core/event.h"
#include "hoplite/store/object_buffer.h"
#include "hoplite/wire/frame.h"

namespace hoplite {

using Bytes = std::vector<std::byte>;

// Who such a peer says that he is.
inline constexpr NodeRef kRawNode{NodeId(99), Incarnation(99)};

// A blocking socket with a time limit on each call.
class RawSocket {
 public:
  explicit RawSocket(int descriptor);
  static RawSocket ConnectTo(const Member& member);
  RawSocket(RawSocket&& other) noexcept
      : descriptor_(std::exchange(other.descriptor_, -1)) {}
  RawSocket& operator=(RawSocket&&) = delete;
  ~RawSocket() { Close(); }

  void Close();
  // Ends early where the peer has closed: tests look for that.
  void Send(std::span<const std::byte> bytes) const;
  // Exactly so many bytes, or fewer at the end.
  Bytes Receive(std::size_t count) const;
  // True: the peer closes, and says nothing before.
  bool IsClosed() const;

 private:
  int descriptor_;
};

// Listens on loopback in the place of a node.
class RawServer {
 public:
  RawServer();
  ~RawServer();
  RawServer(const RawServer&) = delete;
  RawServer& operator=(const RawServer&) = delete;

  Member member() const;
  // The next connection, of which hello and request have been read.
  RawSocket Accept();
  void ReadRequest(const RawSocket& socket);

  Bytes hello;          // the last one
  PullRequest request;  // the last one

 private:
  const int listener_;
};

Bytes EncodedHello(const Hello& hello);
Bytes EncodedRequest(const PullRequest& request);
Bytes EncodedHeader(const FrameHeader& header);
// The header of the frame at `offset` that answers the request rightly.
FrameHeader HeaderFor(const PullRequest& request, const ObjectBuffer& buffer,
                      std::uint64_t offset);
// With its payload.
Bytes EncodedFrame(const PullRequest& request, const ObjectBuffer& buffer,
                   std::uint64_t offset);

}  // namespace hoplite

#endif  // HOPLITE_NET_TCP_DATA_RAW_PEER_H_
