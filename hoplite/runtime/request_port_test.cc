#include "hoplite/runtime/request_port.h"

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "hoplite/base/digest.h"
#include "hoplite/base/testing/status_matchers.h"
#include "hoplite/core/config.h"

namespace hoplite {
namespace {

using ::testing::HasSubstr;

event::ReduceRequested Reduce(std::uint32_t sources, std::uint32_t count) {
  event::ReduceRequested reduce{.request = RequestId(1),
                                .target = IdFromName("target"),
                                .sources = {},
                                .count = count};
  for (std::uint32_t i = 0; i < sources; ++i) {
    reduce.sources.push_back(IdFromName(absl::StrCat(i)));
  }
  return reduce;
}

event::PutRequested Put(std::uint64_t size, Payload payload) {
  return {.request = RequestId(1),
          .object = IdFromName("x"),
          .size = size,
          .payload = std::move(payload)};
}

TEST(RequestPortTest, WhatCanBeIsTaken) {
  EXPECT_THAT(ValidateRequest(Put(3, MakePayload("abc"))), IsOk());
  EXPECT_THAT(ValidateRequest(Put(0, MakePayload(""))), IsOk());
  EXPECT_THAT(ValidateRequest(Put(std::uint64_t{1} << 40, nullptr)), IsOk());
  EXPECT_THAT(ValidateRequest(Put(kInlineBytesMax, MakePayload(std::string(
                                                       kInlineBytesMax, 'x')))),
              IsOk());
  EXPECT_THAT(ValidateRequest(Reduce(1, 1)), IsOk());
  EXPECT_THAT(ValidateRequest(Reduce(kReduceSourcesMax, 1)), IsOk());
}

TEST(RequestPortTest, APayloadIsAsLongAsItSaysAndSmall) {
  EXPECT_THAT(ValidateRequest(Put(4, MakePayload("abc"))),
              StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(
      ValidateRequest(Put(kInlineBytesMax + 1,
                          MakePayload(std::string(kInlineBytesMax + 1, 'x')))),
      StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST(RequestPortTest, AnIdOfZerosIsNone) {
  EXPECT_THAT(ValidateRequest(event::GetRequested{}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("zeros")));
  EXPECT_THAT(ValidateRequest(event::DeleteRequested{}),
              StatusIs(absl::StatusCode::kInvalidArgument));
  event::ReduceRequested reduce = Reduce(2, 2);
  reduce.sources[1] = ObjectId();
  EXPECT_THAT(
      ValidateRequest(reduce),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("source")));
}

TEST(RequestPortTest, AReductionOfTooFewTooManyOrTheSameIsRefused) {
  for (const auto& reduce : {Reduce(0, 0), Reduce(3, 0), Reduce(3, 4)}) {
    EXPECT_THAT(ValidateRequest(reduce),
                StatusIs(absl::StatusCode::kInvalidArgument));
  }
  EXPECT_THAT(ValidateRequest(Reduce(kReduceSourcesMax + 1, 1)),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       HasSubstr(absl::StrCat(kReduceSourcesMax))));
  event::ReduceRequested twice = Reduce(3, 3);
  twice.sources[2] = twice.sources[0];
  EXPECT_THAT(ValidateRequest(twice),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("twice")));
  event::ReduceRequested circle = Reduce(3, 3);
  circle.sources[2] = circle.target;
  EXPECT_THAT(
      ValidateRequest(circle),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("target")));
}

TEST(RequestPortTest, BitsOfFloatingPointNumbersAreNotCombined) {
  event::ReduceRequested reduce = Reduce(2, 2);
  reduce.op = ReduceOp::kBitOr;
  EXPECT_THAT(ValidateRequest(reduce),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("bor")));
  reduce.type = DataType::kU8;
  EXPECT_THAT(ValidateRequest(reduce), IsOk());
}

TEST(RequestPortTest, OtherEventsAreNoRequests) {
  EXPECT_THAT(ValidateRequest(event::RoomFreed{}),
              StatusIs(absl::StatusCode::kInvalidArgument));
}

}  // namespace
}  // namespace hoplite
