#include "hoplite/wire/frame.h"

#include <gtest/gtest.h>

#include <array>
#include <iostream>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "hoplite/base/random.h"
#include "hoplite/core/config.h"

namespace hoplite {
namespace {

using HelloBytes = std::array<std::byte, kHelloBytes>;
using RequestBytes = std::array<std::byte, kPullRequestBytes>;
using HeaderBytes = std::array<std::byte, kFrameHeaderBytes>;

Hello SomeHello() {
  return {.cluster = ClusterId(0x1122334455667788),
          .client = {NodeId(3), Incarnation(7)},
          .server = {NodeId(4), Incarnation(9)}};
}

PullRequest SomeRequest() {
  ObjectId::Bytes object;
  for (std::size_t i = 0; i < object.size(); ++i) {
    object[i] = static_cast<std::uint8_t>(200 + i);
  }
  return {.transfer = TransferId(77),
          .key = {.object = ObjectId(object), .position = 5},
          .generation = {.node = NodeId(3), .era = 7, .counter = 1},
          .begin = 4096,
          .size = (std::uint64_t{1} << 33) + 1,
          .frame_bytes = 8192};
}

FrameHeader SomeHeader() {
  return {.kind = FrameKind::kData,
          .transfer = TransferId(77),
          .generation_digest = 0xdeadbeef,
          .offset = std::uint64_t{1} << 33,
          .frame_bytes = 8192,
          .length = 1,
          .checksum = 42};
}

TEST(FrameTest, ChecksumsAreCrc32c) {
  // RFC 3720, appendix B.4, and the usual check value.
  const absl::string_view digits = "123456789";
  EXPECT_EQ(Crc32c(std::as_bytes(std::span(digits.data(), digits.size()))),
            0xe3069283u);
  EXPECT_EQ(Crc32c(std::vector<std::byte>(32, std::byte{0})), 0x8a9136aau);
  EXPECT_EQ(Crc32c({}), 0u);
}

TEST(FrameTest, EveryRecordComesBackAsItWas) {
  HelloBytes hello;
  EncodeHello(SomeHello(), hello);
  const auto hello_back = DecodeHello(hello);
  ASSERT_TRUE(hello_back.ok());
  EXPECT_EQ(*hello_back, SomeHello());

  RequestBytes request;
  EncodePullRequest(SomeRequest(), request);
  EXPECT_EQ(DecodePullRequest(request), SomeRequest());

  HeaderBytes header;
  EncodeFrameHeader(SomeHeader(), header);
  EXPECT_EQ(DecodeFrameHeader(header), SomeHeader());
  for (const FrameKind kind : {FrameKind::kKeepAlive, FrameKind::kRefusal}) {
    const FrameHeader control{.kind = kind, .transfer = TransferId(1)};
    EncodeFrameHeader(control, header);
    EXPECT_EQ(DecodeFrameHeader(header), control);
  }
}

TEST(FrameTest, NumbersAreLittleEndian) {
  HelloBytes hello;
  EncodeHello(SomeHello(), hello);
  EXPECT_EQ(hello[0], std::byte{'H'});
  EXPECT_EQ(hello[4], std::byte{kDataProtocolVersion});
  EXPECT_EQ(hello[8], std::byte{0x88});
  EXPECT_EQ(hello[15], std::byte{0x11});
}

TEST(FrameTest, EveryFlippedBitIsSeen) {
  HelloBytes hello;
  EncodeHello(SomeHello(), hello);
  RequestBytes request;
  EncodePullRequest(SomeRequest(), request);
  HeaderBytes header;
  EncodeFrameHeader(SomeHeader(), header);
  const auto flip = [](auto& bytes, auto is_seen) {
    for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
      bytes[bit / 8] ^= std::byte{1} << (bit % 8);
      EXPECT_TRUE(is_seen(bytes)) << "bit " << bit;
      bytes[bit / 8] ^= std::byte{1} << (bit % 8);
    }
  };
  flip(hello, [](const HelloBytes& bytes) { return !DecodeHello(bytes).ok(); });
  flip(request, [](const RequestBytes& bytes) {
    return !DecodePullRequest(bytes).has_value();
  });
  flip(header, [](const HeaderBytes& bytes) {
    return !DecodeFrameHeader(bytes).has_value();
  });
}

TEST(FrameTest, NoiseIsNoRecord) {
  const auto seed = static_cast<std::uint64_t>(absl::ToUnixMicros(absl::Now()));
  std::cout << "seed " << seed << "\n";
  Random random(seed);
  for (int run = 0; run < 10'000; ++run) {
    RequestBytes bytes;
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random.Next());
    EXPECT_FALSE(DecodePullRequest(bytes).has_value());
    EXPECT_FALSE(DecodeHello(std::span(bytes).first<kHelloBytes>()).ok());
    EXPECT_FALSE(
        DecodeFrameHeader(std::span(bytes).first<kFrameHeaderBytes>()));
  }
}

TEST(FrameTest, NumbersThatCannotGoTogetherAreRefused) {
  const auto request_is_taken = [](auto change) {
    PullRequest request = SomeRequest();
    change(request);
    RequestBytes bytes;
    EncodePullRequest(request, bytes);
    return DecodePullRequest(bytes).has_value();
  };
  EXPECT_TRUE(request_is_taken([](PullRequest& r) { r.begin = r.size; }));
  EXPECT_FALSE(request_is_taken([](PullRequest& r) { r.begin = r.size + 1; }));
  EXPECT_FALSE(request_is_taken([](PullRequest& r) { r.frame_bytes = 0; }));
  EXPECT_FALSE(request_is_taken([](PullRequest& r) { r.frame_bytes = 1024; }));
  EXPECT_FALSE(request_is_taken([](PullRequest& r) { r.frame_bytes = 5000; }));
  EXPECT_FALSE(
      request_is_taken([](PullRequest& r) { r.frame_bytes = 2u << 20; }));

  const auto header_is_taken = [](auto change) {
    FrameHeader header = SomeHeader();
    change(header);
    HeaderBytes bytes;
    EncodeFrameHeader(header, bytes);
    return DecodeFrameHeader(bytes).has_value();
  };
  EXPECT_TRUE(header_is_taken([](FrameHeader& h) { h.length = 8192; }));
  EXPECT_FALSE(header_is_taken([](FrameHeader& h) { h.length = 8193; }));
  EXPECT_FALSE(header_is_taken([](FrameHeader& h) { h.length = 0; }));
  EXPECT_FALSE(header_is_taken([](FrameHeader& h) { h.offset += 1; }));
  EXPECT_FALSE(header_is_taken([](FrameHeader& h) { h.frame_bytes = 100; }));
  EXPECT_FALSE(
      header_is_taken([](FrameHeader& h) { h.kind = FrameKind::kKeepAlive; }));
}

TEST(FrameTest, AnotherVersionIsNamed) {
  HelloBytes bytes;
  EncodeHello(SomeHello(), bytes);
  bytes[4] = std::byte{9};
  const std::uint32_t crc = Crc32c(std::span(bytes).first(kHelloBytes - 4));
  for (std::size_t i = 0; i < 4; ++i) {
    bytes[kHelloBytes - 4 + i] = static_cast<std::byte>(crc >> (8 * i));
  }
  const absl::Status status = DecodeHello(bytes).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_NE(status.message().find("version 9"), absl::string_view::npos);
}

TEST(FrameTest, FrameSizesArePowersOfTwoWithinTheLimits) {
  EXPECT_EQ(ToFrameBytes(0), kFrameBytesMin);
  EXPECT_EQ(ToFrameBytes(5000), 4096u);
  EXPECT_EQ(ToFrameBytes(8192), 8192u);
  EXPECT_EQ(ToFrameBytes(UINT64_MAX), kFrameBytesMax);
  EXPECT_TRUE(IsFrameBytes(kFrameBytesMin));
  EXPECT_TRUE(IsFrameBytes(kFrameBytesMax));
  EXPECT_FALSE(IsFrameBytes(kFrameBytesMin / 2));
  EXPECT_FALSE(IsFrameBytes(kFrameBytesMax * 2));
  EXPECT_FALSE(IsFrameBytes(3 * kFrameBytesMin));
}

TEST(FrameTest, GenerationsHaveDigestsOfTheirOwn) {
  const Generation generation{.node = NodeId(3), .era = 7, .counter = 1};
  Generation other = generation;
  EXPECT_EQ(GenerationDigest(generation), GenerationDigest(other));
  other.counter = 2;
  EXPECT_NE(GenerationDigest(generation), GenerationDigest(other));
}

}  // namespace
}  // namespace hoplite
