// Any bytes as each record of a data connection: none, or one that encodes to
// the same bytes again.

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "hoplite/base/check.h"
#include "hoplite/wire/frame.h"
#include "tests/fuzz/fuzz_input.h"

namespace hoplite::fuzz {
namespace {

// So many bytes of the input; with a right checksum at their end where the
// input wants that, as no fuzzer finds one.
template <std::size_t kBytes>
std::array<std::byte, kBytes> Record(FuzzInput& input, bool is_sealed) {
  std::array<std::byte, kBytes> record{};
  std::ranges::copy(std::as_bytes(input.Bytes(kBytes)), record.begin());
  if (!is_sealed) return record;
  static_assert(std::endian::native == std::endian::little);
  constexpr std::size_t kEnd = kBytes - sizeof(std::uint32_t);
  const std::uint32_t crc = Crc32c(std::span(record).first(kEnd));
  std::memcpy(&record[kEnd], &crc, sizeof(crc));
  return record;
}

void TryHello(FuzzInput& input, bool is_sealed) {
  const auto bytes = Record<kHelloBytes>(input, is_sealed);
  const auto hello = DecodeHello(bytes);
  if (!hello.ok()) return;
  std::array<std::byte, kHelloBytes> again;
  EncodeHello(*hello, again);
  HOPLITE_CHECK(again == bytes);
}

void TryPullRequest(FuzzInput& input, bool is_sealed) {
  const auto bytes = Record<kPullRequestBytes>(input, is_sealed);
  const auto request = DecodePullRequest(bytes);
  if (!request.has_value()) return;
  HOPLITE_CHECK(request->begin <= request->size);
  HOPLITE_CHECK(IsFrameBytes(request->frame_bytes));
  std::array<std::byte, kPullRequestBytes> again;
  EncodePullRequest(*request, again);
  HOPLITE_CHECK(again == bytes);
}

void TryHeader(FuzzInput& input, bool is_sealed) {
  const auto bytes = Record<kFrameHeaderBytes>(input, is_sealed);
  const auto header = DecodeFrameHeader(bytes);
  if (!header.has_value()) return;
  if (header->kind == FrameKind::kData) {
    HOPLITE_CHECK(IsFrameBytes(header->frame_bytes));
    HOPLITE_CHECK(header->length > 0 && header->length <= header->frame_bytes);
    HOPLITE_CHECK(header->offset % header->frame_bytes == 0);
  } else {
    HOPLITE_CHECK(header->length == 0);
  }
  std::array<std::byte, kFrameHeaderBytes> again;
  EncodeFrameHeader(*header, again);
  HOPLITE_CHECK(again == bytes);
}

}  // namespace
}  // namespace hoplite::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  hoplite::fuzz::FuzzInput input(data, size);
  const bool is_sealed = input.Below(4) != 0;
  hoplite::fuzz::FuzzInput same = input;
  hoplite::fuzz::TryHello(same, is_sealed);
  same = input;
  hoplite::fuzz::TryPullRequest(same, is_sealed);
  hoplite::fuzz::TryHeader(input, is_sealed);
  return 0;
}
