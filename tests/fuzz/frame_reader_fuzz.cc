// A server that lies, to a FrameReader at the other end of a socket pair.
//
// The input is a list of pieces: good frames, headers with one field changed
// and sealed again, and bytes of its own. Whatever comes, only verified bytes
// count, in order, and none twice.

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "hoplite/base/check.h"
#include "hoplite/net/tcp_data_reader.h"
#include "hoplite/wire/frame.h"
#include "tests/fuzz/fuzz_input.h"

namespace hoplite::fuzz {
namespace {

constexpr std::uint64_t kSize = 10'000;
constexpr std::uint32_t kFrame = 2048;
constexpr PullRequest kRequest{.transfer = TransferId(3),
                               .generation = {NodeId(2), 2, 1},
                               .size = kSize,
                               .frame_bytes = kFrame};

std::byte ContentAt(std::uint64_t offset) {
  return static_cast<std::byte>(offset * 131 + (offset >> 8));
}

// A buffer that checks what it is told.
class CheckingSink final : public FrameReader::Sink {
 public:
  std::byte* Place(std::uint64_t offset, std::uint32_t length) override {
    HOPLITE_CHECK(offset <= kSize && length <= kSize - offset);
    return &bytes_[offset];
  }
  void OnFrame(const FrameHeader& header) override {
    HOPLITE_CHECK(header.offset <= watermark_);
    const std::uint64_t end = header.offset + header.length;
    HOPLITE_CHECK(end > watermark_ && end <= kSize);
    HOPLITE_CHECK(Crc32c(std::span(bytes_).subspan(
                      header.offset, header.length)) == header.checksum);
    watermark_ = end;
  }
  std::uint64_t watermark() const { return watermark_; }

 private:
  std::array<std::byte, kSize> bytes_{};
  std::uint64_t watermark_ = 0;
};

class Stream {
 public:
  Stream() {
    int ends[2];
    HOPLITE_CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends) ==
                  0);
    server_ = ends[0];
    client_ = ends[1];
  }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  ~Stream() {
    EndServer();
    close(client_);
  }
  void EndServer() {
    if (server_ >= 0) close(server_);
    server_ = -1;
  }
  void Send(std::span<const std::byte> bytes) const {
    // What does not fit is cut, as by a server that dies.
    static_cast<void>(send(server_, bytes.data(), bytes.size(), MSG_NOSIGNAL));
  }
  int client() const { return client_; }

 private:
  int server_;
  int client_;
};

// The next frame that is due, and what the input does to its header.
void SendFrame(FuzzInput& input, const Stream& stream, std::uint64_t& next,
               std::uint32_t frame_bytes) {
  FrameHeader header{.transfer = kRequest.transfer,
                     .generation_digest = GenerationDigest(kRequest.generation),
                     .offset = next,
                     .frame_bytes = frame_bytes,
                     .length = static_cast<std::uint32_t>(
                         std::min<std::uint64_t>(frame_bytes, kSize - next))};
  std::vector<std::byte> payload(header.length);
  for (std::size_t i = 0; i < payload.size(); ++i) {
    payload[i] = ContentAt(next + i);
  }
  header.checksum = Crc32c(payload);
  const std::uint32_t lie = 1u << input.Below(32);
  switch (input.Below(16)) {
    case 0:
      header.kind = static_cast<FrameKind>(input.Below(3));
      header.length = 0;
      payload.clear();
      break;
    case 1:
      header.transfer = TransferId(lie);
      break;
    case 2:
      header.generation_digest ^= lie;
      break;
    case 3:
      header.offset ^= std::uint64_t{lie} << input.Below(33);
      break;
    case 4:
      header.frame_bytes = lie;
      break;
    case 5:
      header.length ^= lie;
      break;
    case 6:
      header.checksum ^= lie;
      break;
    default:
      next = std::min<std::uint64_t>(kSize, next + frame_bytes);
  }
  std::array<std::byte, kFrameHeaderBytes> bytes;
  EncodeFrameHeader(header, bytes);
  stream.Send(bytes);
  stream.Send(payload);
}

void Run(FuzzInput& input) {
  Stream stream;
  CheckingSink sink;
  FrameReader reader(kRequest, sink);
  const std::uint32_t frame_bytes = kFrame << input.Below(3);
  std::uint64_t next = 0;
  while (!input.empty()) {
    const std::uint8_t act = input.Byte();
    if (act < 128) {
      SendFrame(input, stream, next, frame_bytes);
    } else if (act < 192) {
      stream.Send(std::as_bytes(input.Bytes(act % 64)));
    } else if (act == 255) {
      stream.EndServer();
    }
    const FrameReader::Outcome outcome = reader.Read(stream.client());
    if (outcome == FrameReader::Outcome::kDone) {
      HOPLITE_CHECK(sink.watermark() == kSize);
    }
    if (outcome != FrameReader::Outcome::kWaits &&
        outcome != FrameReader::Outcome::kNoRoom) {
      return;
    }
  }
}

}  // namespace
}  // namespace hoplite::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  hoplite::fuzz::FuzzInput input(data, size);
  hoplite::fuzz::Run(input);
  return 0;
}
