#include "hoplite/runtime/client_protocol.h"

#include <cstdint>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "hoplite/base/digest.h"
#include "hoplite/base/random.h"

namespace hoplite {
namespace {

namespace m = client_message;

std::vector<ClientMessage> Examples() {
  const ObjectId id = IdFromName("a");
  return {
      m::Hello{},
      m::Put{.number = 7,
             .object = id,
             .size = 3,
             .timeout = absl::Seconds(2),
             .streams = true,
             .payload = "abc"},
      m::Put{.number = 8, .object = id, .size = 1 << 30, .payload = {}},
      m::Advance{.number = 1, .to = 1 << 20},
      m::Seal{.number = 2},
      m::Get{.number = 3, .object = id, .timeout = absl::Nanoseconds(1)},
      m::Release{.number = 3},
      m::Delete{.number = 4, .object = id},
      m::Reduce{.number = 5,
                .target = id,
                .sources = {IdFromName("b"), IdFromName("c")},
                .count = 2,
                .op = ReduceOp::kMax,
                .type = DataType::kBF16},
      m::Cancel{.number = 5},
      m::ReportAsk{.number = 6},
      m::Welcome{.store_capacity = 1 << 20},
      m::Room{.number = 7, .offset = 64, .size = 128},
      m::Answer{.number = 5,
                .code = absl::StatusCode::kNotFound,
                .text = "gone",
                .sources = {id}},
      m::ReportAnswer{.number = 6, .json = "{}"},
  };
}

absl::string_view Body(const std::string& frame) {
  return absl::string_view(frame).substr(4);
}

TEST(ClientProtocolTest, WhatIsDecodedIsWhatWasEncoded) {
  for (const ClientMessage& message : Examples()) {
    const std::string frame = EncodeFrame(message);
    const auto decoded = DecodeFrame(Body(frame));
    ASSERT_TRUE(decoded.has_value()) << message.index();
    EXPECT_EQ(decoded->index(), message.index());
    EXPECT_EQ(EncodeFrame(*decoded), frame);
  }
}

TEST(ClientProtocolTest, FieldsKeepTheirValues) {
  const std::string frame = EncodeFrame(Examples()[1]);
  const auto decoded = DecodeFrame(Body(frame));
  ASSERT_TRUE(decoded.has_value());
  const auto& put = std::get<m::Put>(*decoded);
  EXPECT_EQ(put.number, 7U);
  EXPECT_EQ(put.object, IdFromName("a"));
  EXPECT_EQ(put.timeout, absl::Seconds(2));
  EXPECT_TRUE(put.streams);
  EXPECT_EQ(put.payload, "abc");
  const std::string endless = EncodeFrame(m::Get{});
  EXPECT_EQ(std::get<m::Get>(*DecodeFrame(Body(endless))).timeout,
            absl::InfiniteDuration());
}

TEST(ClientProtocolTest, AFrameThatIsCutOrTooLongIsRefused) {
  for (const ClientMessage& message : Examples()) {
    const std::string frame = EncodeFrame(message);
    const absl::string_view body = Body(frame);
    for (std::size_t size = 0; size < body.size(); ++size) {
      EXPECT_FALSE(DecodeFrame(body.substr(0, size)).has_value());
    }
    EXPECT_FALSE(DecodeFrame(std::string(body) + "x").has_value());
  }
}

TEST(ClientProtocolTest, GarbageIsRefusedOrUnderstoodButNeverHarmful) {
  const std::uint64_t seed = ::testing::UnitTest::GetInstance()->random_seed();
  SCOPED_TRACE(seed);
  Random random(seed);
  for (int i = 0; i < 20000; ++i) {
    const std::vector<ClientMessage> examples = Examples();
    std::string body(
        Body(EncodeFrame(examples[random.Below(examples.size())])));
    for (std::uint64_t flips = random.Between(1, 4); flips > 0; --flips) {
      body[random.Below(body.size())] = static_cast<char>(random.Next());
    }
    const auto decoded = DecodeFrame(body);
    if (decoded.has_value()) EncodeFrame(*decoded);
  }
}

}  // namespace
}  // namespace hoplite
