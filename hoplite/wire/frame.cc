#include "hoplite/wire/frame.h"

#include <isa-l/crc.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "absl/status/status.h"
#include "absl/strings/str_format.h"
#include "hoplite/base/check.h"
#include "hoplite/core/config.h"

namespace hoplite {
namespace {

constexpr std::uint32_t kHelloMagic = 0x4c504f48;    // "HOPL"
constexpr std::uint32_t kRequestMagic = 0x4c4c5550;  // "PULL"
// By FrameKind; far apart, so that no flipped bit makes one another.
constexpr std::array<std::uint32_t, 3> kFrameMagics = {
    0x41544144,  // "DATA"
    0x56494c41,  // "ALIV"
    0x53554652,  // "RFUS"
};
constexpr std::size_t kCrcBytes = 4;
constexpr std::size_t kGenerationBytes = 20;

class ByteWriter {
 public:
  explicit ByteWriter(std::span<std::byte> bytes) : bytes_(bytes) {}

  template <typename T>
  void Put(T number) {
    for (std::size_t i = 0; i < sizeof(T); ++i) {
      bytes_[at_++] = static_cast<std::byte>(number >> (8 * i));
    }
  }
  void PutNode(NodeRef node) {
    Put(node.node.value());
    Put(node.incarnation.value());
  }
  void PutGeneration(const Generation& generation) {
    Put(generation.node.value());
    Put(generation.era);
    Put(generation.counter);
  }
  void PutBytes(std::span<const std::byte> bytes) {
    std::memcpy(&bytes_[at_], bytes.data(), bytes.size());
    at_ += bytes.size();
  }
  // The checksum of what was put; nothing comes after it.
  void Seal() {
    Put(Crc32c(bytes_.first(at_)));
    HOPLITE_CHECK(at_ == bytes_.size());
  }

 private:
  const std::span<std::byte> bytes_;
  std::size_t at_ = 0;
};

class ByteReader {
 public:
  explicit ByteReader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  template <typename T>
  T Take() {
    T number = 0;
    for (std::size_t i = 0; i < sizeof(T); ++i) {
      number |= static_cast<T>(static_cast<T>(bytes_[at_++]) << (8 * i));
    }
    return number;
  }
  NodeRef TakeNode() {
    const NodeId node(Take<std::uint32_t>());
    return {node, Incarnation(Take<std::uint64_t>())};
  }
  Generation TakeGeneration() {
    Generation generation;
    generation.node = NodeId(Take<std::uint32_t>());
    generation.era = Take<std::uint64_t>();
    generation.counter = Take<std::uint64_t>();
    return generation;
  }
  ObjectId TakeObject() {
    ObjectId::Bytes object;
    std::memcpy(object.data(), &bytes_[at_], object.size());
    at_ += object.size();
    return ObjectId(object);
  }
  // True where the record ends with its checksum.
  bool IsSealed() const {
    const std::size_t end = bytes_.size() - kCrcBytes;
    ByteReader seal(bytes_.subspan(end));
    return seal.Take<std::uint32_t>() == Crc32c(bytes_.first(end));
  }

 private:
  const std::span<const std::byte> bytes_;
  std::size_t at_ = 0;
};

}  // namespace

bool IsFrameBytes(std::uint64_t frame_bytes) {
  return std::has_single_bit(frame_bytes) && frame_bytes >= kFrameBytesMin &&
         frame_bytes <= kFrameBytesMax;
}

std::uint32_t ToFrameBytes(std::uint64_t frame_bytes) {
  static_assert(std::has_single_bit(kFrameBytesMin));
  static_assert(std::has_single_bit(kFrameBytesMax));
  return static_cast<std::uint32_t>(
      std::bit_floor(std::clamp(frame_bytes, kFrameBytesMin, kFrameBytesMax)));
}

std::uint32_t Crc32c(std::span<const std::byte> bytes) {
  HOPLITE_CHECK(bytes.size() <= std::size_t{1} << 30);
  // The library reads only, though its signature does not say so.
  auto* const data =
      reinterpret_cast<unsigned char*>(const_cast<std::byte*>(bytes.data()));
  return ~crc32_iscsi(data, static_cast<int>(bytes.size()), ~0u);
}

std::uint32_t GenerationDigest(const Generation& generation) {
  std::array<std::byte, kGenerationBytes> bytes;
  ByteWriter(bytes).PutGeneration(generation);
  return Crc32c(bytes);
}

void EncodeHello(const Hello& hello, std::span<std::byte, kHelloBytes> bytes) {
  ByteWriter writer(bytes);
  writer.Put(kHelloMagic);
  writer.Put(kDataProtocolVersion);
  writer.Put(hello.cluster.value());
  writer.PutNode(hello.client);
  writer.PutNode(hello.server);
  writer.Seal();
}

void EncodePullRequest(const PullRequest& request,
                       std::span<std::byte, kPullRequestBytes> bytes) {
  ByteWriter writer(bytes);
  writer.Put(kRequestMagic);
  writer.Put(request.transfer.value());
  writer.PutBytes(std::as_bytes(std::span(request.key.object.bytes())));
  writer.Put(request.key.position);
  writer.PutGeneration(request.generation);
  writer.Put(request.begin);
  writer.Put(request.size);
  writer.Put(request.frame_bytes);
  writer.Seal();
}

void EncodeFrameHeader(const FrameHeader& header,
                       std::span<std::byte, kFrameHeaderBytes> bytes) {
  ByteWriter writer(bytes);
  writer.Put(kFrameMagics[static_cast<std::size_t>(header.kind)]);
  writer.Put(header.transfer.value());
  writer.Put(header.generation_digest);
  writer.Put(header.offset);
  writer.Put(header.frame_bytes);
  writer.Put(header.length);
  writer.Put(header.checksum);
  writer.Seal();
}

absl::StatusOr<Hello> DecodeHello(
    std::span<const std::byte, kHelloBytes> bytes) {
  ByteReader reader(bytes);
  if (reader.Take<std::uint32_t>() != kHelloMagic || !reader.IsSealed()) {
    return absl::InvalidArgumentError("this is no hello of a Hoplite node");
  }
  const auto version = reader.Take<std::uint32_t>();
  if (version != kDataProtocolVersion) {
    return absl::FailedPreconditionError(absl::StrFormat(
        "the peer speaks version %d of the data protocol, this node %d; run "
        "the same release on all nodes",
        version, kDataProtocolVersion));
  }
  Hello hello;
  hello.cluster = ClusterId(reader.Take<std::uint64_t>());
  hello.client = reader.TakeNode();
  hello.server = reader.TakeNode();
  return hello;
}

std::optional<PullRequest> DecodePullRequest(
    std::span<const std::byte, kPullRequestBytes> bytes) {
  ByteReader reader(bytes);
  if (reader.Take<std::uint32_t>() != kRequestMagic || !reader.IsSealed()) {
    return std::nullopt;
  }
  PullRequest request;
  request.transfer = TransferId(reader.Take<std::uint64_t>());
  request.key.object = reader.TakeObject();
  request.key.position = reader.Take<std::uint32_t>();
  request.generation = reader.TakeGeneration();
  request.begin = reader.Take<std::uint64_t>();
  request.size = reader.Take<std::uint64_t>();
  request.frame_bytes = reader.Take<std::uint32_t>();
  if (request.begin > request.size || !IsFrameBytes(request.frame_bytes)) {
    return std::nullopt;
  }
  return request;
}

std::optional<FrameHeader> DecodeFrameHeader(
    std::span<const std::byte, kFrameHeaderBytes> bytes) {
  ByteReader reader(bytes);
  const auto magic = std::find(kFrameMagics.begin(), kFrameMagics.end(),
                               reader.Take<std::uint32_t>());
  if (magic == kFrameMagics.end() || !reader.IsSealed()) return std::nullopt;
  FrameHeader header;
  header.kind = static_cast<FrameKind>(magic - kFrameMagics.begin());
  header.transfer = TransferId(reader.Take<std::uint64_t>());
  header.generation_digest = reader.Take<std::uint32_t>();
  header.offset = reader.Take<std::uint64_t>();
  header.frame_bytes = reader.Take<std::uint32_t>();
  header.length = reader.Take<std::uint32_t>();
  header.checksum = reader.Take<std::uint32_t>();
  if (header.kind != FrameKind::kData) {
    if (header.length != 0) return std::nullopt;
    return header;
  }
  if (!IsFrameBytes(header.frame_bytes) || header.length == 0 ||
      header.length > header.frame_bytes ||
      header.offset % header.frame_bytes != 0) {
    return std::nullopt;
  }
  return header;
}

}  // namespace hoplite
