// What goes over a data connection, byte for byte.
//
// All numbers are little endian and every record has a fixed size, so nothing
// that a peer says makes its reader allocate. Each record ends with the CRC32C
// of the bytes before it.
//
//   connection = hello pull* ->          from the client, the puller
//              <- (keep-alive | refusal | data)*      from the server
//
//   hello      = magic:4 version:4 cluster:8
//                client node:4 incarnation:8
//                server node:4 incarnation:8 crc:4               44 bytes
//   pull       = magic:4 transfer:8 object:28 position:4
//                generation (node:4 era:8 counter:8)
//                begin:8 size:8 frame bytes:4 crc:4              88 bytes
//   frame      = header payload
//   header     = kind:4 transfer:8 generation digest:4 offset:8
//                frame bytes:4 length:4 payload crc:4 crc:4      40 bytes
//
// A pull is answered by data frames in order, which begin at the frame that
// holds the pull's first byte and end with the object, or by a refusal, which
// may also cut the data short. Then the next pull may follow. A keep-alive may
// stand between any two frames. Keep-alives and refusals have no payload. All
// data frames have the server's frame size, the last one is cut at the
// object's end.
//
// Not responsible for: reading and writing sockets (hoplite/net).
// Thread safety: values; as safe as int. Functions are thread-safe.
// Units: bytes.

#ifndef HOPLITE_WIRE_FRAME_H_
#define HOPLITE_WIRE_FRAME_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "absl/status/statusor.h"
#include "hoplite/base/id.h"
#include "hoplite/core/event.h"

namespace hoplite {

inline constexpr std::uint32_t kDataProtocolVersion = 1;
inline constexpr std::size_t kHelloBytes = 44;
inline constexpr std::size_t kPullRequestBytes = 88;
inline constexpr std::size_t kFrameHeaderBytes = 40;

// The first record of a connection: who calls, and whom he means.
struct Hello {
  ClusterId cluster;
  NodeRef client;
  NodeRef server;
  friend bool operator==(const Hello&, const Hello&) = default;
};

// Asks for [begin, size) of an object, or of a position's output.
struct PullRequest {
  TransferId transfer;  // the client's name for it
  PullKey key;
  Generation generation;
  std::uint64_t begin = 0;
  std::uint64_t size = 0;
  std::uint32_t frame_bytes = 0;  // used where the server's is not fixed yet
  friend bool operator==(const PullRequest&, const PullRequest&) = default;
};

enum class FrameKind : std::uint32_t {
  kData,
  kKeepAlive,  // the server lives, and has nothing to send
  kRefusal,    // the server will not send (more)
};

struct FrameHeader {
  FrameKind kind = FrameKind::kData;
  TransferId transfer;
  std::uint32_t generation_digest = 0;
  std::uint64_t offset = 0;       // of the payload in the object
  std::uint32_t frame_bytes = 0;  // the server's
  std::uint32_t length = 0;       // of the payload
  std::uint32_t checksum = 0;     // CRC32C of the payload
  friend bool operator==(const FrameHeader&, const FrameHeader&) = default;
};

// True for the sizes that a frame may have: powers of two from kFrameBytesMin
// to kFrameBytesMax.
bool IsFrameBytes(std::uint64_t frame_bytes);
// The largest of them that is not above `frame_bytes`, or the smallest.
std::uint32_t ToFrameBytes(std::uint64_t frame_bytes);

// CRC-32C (Castagnoli). REQUIRES: at most 1 GiB.
std::uint32_t Crc32c(std::span<const std::byte> bytes);
// A generation in four bytes: enough to tell apart what one transfer may meet.
std::uint32_t GenerationDigest(const Generation& generation);

void EncodeHello(const Hello& hello, std::span<std::byte, kHelloBytes> bytes);
void EncodePullRequest(const PullRequest& request,
                       std::span<std::byte, kPullRequestBytes> bytes);
void EncodeFrameHeader(const FrameHeader& header,
                       std::span<std::byte, kFrameHeaderBytes> bytes);

// Errors: kInvalidArgument: no hello. kFailedPrecondition: another version of
// the protocol, both of which are named.
absl::StatusOr<Hello> DecodeHello(
    std::span<const std::byte, kHelloBytes> bytes);
// nullopt: no such record, or with numbers that cannot go together. Afterwards
// begin <= size, and IsFrameBytes(frame_bytes).
std::optional<PullRequest> DecodePullRequest(
    std::span<const std::byte, kPullRequestBytes> bytes);
// nullopt: as above. Afterwards a data frame's offset is a multiple of its
// IsFrameBytes(frame_bytes), and 0 < length <= frame_bytes; another's length
// is 0.
std::optional<FrameHeader> DecodeFrameHeader(
    std::span<const std::byte, kFrameHeaderBytes> bytes);

}  // namespace hoplite

#endif  // HOPLITE_WIRE_FRAME_H_
