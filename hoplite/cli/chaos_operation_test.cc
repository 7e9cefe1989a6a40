#include "hoplite/cli/chaos_operation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"

namespace hoplite::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

constexpr std::uint64_t kBytes = 65536;
constexpr std::int64_t kSecond = 1'000'000'000;
constexpr ChaosContent kContent{.seed = 1, .operation = 4};

ChaosPlan PlanOf(Operation operation, std::uint32_t count = 3) {
  return {.operation = operation,
          .content = kContent,
          .bytes = kBytes,
          .members = {4, 7, 2},
          .count = count,
          .deadline = 30 * kSecond};
}

ChaosEnd Ended(absl::StatusCode code) { return {.code = code}; }
ChaosEnd Got(const ChaosWeight& weight, std::uint64_t wrong_bytes = 0) {
  return {.reading = {.weight = weight, .wrong_bytes = wrong_bytes}};
}
ChaosWeight SumOf(std::initializer_list<std::uint32_t> sources) {
  ChaosWeight sum;
  for (const std::uint32_t source : sources) {
    sum = sum + kContent.Weight(source);
  }
  return sum;
}

class ChaosOperationTest : public ::testing::Test {
 protected:
  void Begin(const ChaosPlan& plan) { operation_.emplace(plan); }

  // What is called now, as "put 0 by 4".
  std::vector<std::string> Calls() {
    std::vector<std::string> calls;
    for (const auto& order : operation_->Next(now_)) {
      calls.push_back(absl::StrCat(ToString(order.call.kind), " ",
                                   order.call.object, " by ", order.member));
      EXPECT_EQ(order.call.deadline, 30 * kSecond);
      EXPECT_EQ(order.call.bytes, kBytes);
      orders_.push_back(order);
    }
    return calls;
  }
  // Ends the last call of the kind by the member.
  ChaosVerdict End(int member, ChaosCallKind kind, const ChaosEnd& end,
                   std::uint32_t object = 0) {
    ChaosCall call{.kind = kind};
    for (const auto& order : orders_) {
      if (order.member == member && order.call.kind == kind &&
          (kind != ChaosCallKind::kPut || order.call.object == object)) {
        call = order.call;
      }
    }
    return operation_->OnEnd(member, call, end, now_);
  }
  void PutAll() {
    const int members[] = {4, 7, 2};
    for (std::uint32_t i = 0; i < 3; ++i) {
      End(members[i], ChaosCallKind::kPut, {}, i);
    }
  }

  std::optional<ChaosOperation> operation_;
  std::vector<ChaosOperation::Order> orders_;
  std::int64_t now_ = kSecond;
};

TEST_F(ChaosOperationTest, ABroadcastIsOnePutAndAGetOfEach) {
  Begin(PlanOf(Operation::kBroadcast));
  EXPECT_THAT(Calls(), UnorderedElementsAre("put 0 by 4", "get 0 by 4",
                                            "get 0 by 7", "get 0 by 2"));
  EXPECT_THAT(Calls(), IsEmpty());
  End(4, ChaosCallKind::kPut, {});
  for (const int member : {4, 7, 2}) {
    EXPECT_FALSE(operation_->done());
    EXPECT_EQ(End(member, ChaosCallKind::kGet, Got(kContent.Weight(0))),
              ChaosVerdict::kRight);
  }
  EXPECT_TRUE(operation_->done());
  EXPECT_FALSE(operation_->disturbed());
  EXPECT_EQ(operation_->wrong_bytes(), 0);
}

TEST_F(ChaosOperationTest, AnotherPutsWhatDiedWithItsPutter) {
  Begin(PlanOf(Operation::kBroadcast));
  Calls();
  End(4, ChaosCallKind::kPut, {});
  operation_->OnHit(4);
  EXPECT_THAT(Calls(), ElementsAre("put 0 by 7"));
  // Its holder still counts as alive: once more after a while.
  EXPECT_EQ(
      End(7, ChaosCallKind::kPut, Ended(absl::StatusCode::kAlreadyExists)),
      ChaosVerdict::kRight);
  EXPECT_THAT(Calls(), IsEmpty());
  now_ += kSecond;
  EXPECT_THAT(Calls(), ElementsAre("put 0 by 7"));
  // Who waits is told of the loss, and asks again.
  EXPECT_EQ(End(2, ChaosCallKind::kGet, Ended(absl::StatusCode::kDataLoss)),
            ChaosVerdict::kRight);
  now_ += kSecond;
  EXPECT_THAT(Calls(), ElementsAre("get 0 by 2"));
  End(7, ChaosCallKind::kPut, {});
  End(7, ChaosCallKind::kGet, Got(kContent.Weight(0)));
  End(2, ChaosCallKind::kGet, Got(kContent.Weight(0)));
  EXPECT_TRUE(operation_->done());  // without the one that was hit
}

TEST_F(ChaosOperationTest, WithoutAFaultEveryErrorIsWrong) {
  Begin(PlanOf(Operation::kAllreduce));
  Calls();
  EXPECT_EQ(End(7, ChaosCallKind::kGet, Ended(absl::StatusCode::kDataLoss)),
            ChaosVerdict::kWrong);
  EXPECT_EQ(
      End(4, ChaosCallKind::kReduce, Ended(absl::StatusCode::kAlreadyExists)),
      ChaosVerdict::kWrong);
  EXPECT_EQ(
      End(4, ChaosCallKind::kPut, Ended(absl::StatusCode::kResourceExhausted)),
      ChaosVerdict::kWrong);
  EXPECT_EQ(
      End(2, ChaosCallKind::kGet, Ended(absl::StatusCode::kDeadlineExceeded)),
      ChaosVerdict::kPastDeadline);
}

TEST_F(ChaosOperationTest, WhoIsHitMayMissTheDeadlineButNotGetWrongBytes) {
  Begin(PlanOf(Operation::kBroadcast));
  Calls();
  operation_->OnHit(7);
  operation_->OnHit(2);
  EXPECT_EQ(
      End(7, ChaosCallKind::kGet, Ended(absl::StatusCode::kDeadlineExceeded)),
      ChaosVerdict::kRight);
  End(2, ChaosCallKind::kGet, Got(kContent.Weight(0), 3));
  EXPECT_EQ(operation_->wrong_bytes(), 3);
}

TEST_F(ChaosOperationTest, AnotherCallsTheReductionOfACallerThatIsHit) {
  Begin(PlanOf(Operation::kReduce));
  EXPECT_THAT(Calls(),
              UnorderedElementsAre("put 0 by 4", "put 1 by 7", "put 2 by 2",
                                   "reduce 0 by 4", "get 3 by 4"));
  PutAll();
  operation_->OnHit(4);
  EXPECT_THAT(Calls(), UnorderedElementsAre("put 0 by 7", "reduce 0 by 7",
                                            "get 3 by 7"));
  End(7, ChaosCallKind::kReduce, {.sources = {0, 1, 2}});
  EXPECT_FALSE(operation_->done());
  End(7, ChaosCallKind::kGet, Got(SumOf({0, 1, 2})));
  EXPECT_TRUE(operation_->done());
  EXPECT_EQ(operation_->wrong_bytes(), 0);
}

TEST_F(ChaosOperationTest, AResultThatIsLostIsMadeAgain) {
  Begin(PlanOf(Operation::kAllreduce, 2));
  Calls();
  PutAll();
  End(4, ChaosCallKind::kReduce, {.sources = {0, 1}});
  End(4, ChaosCallKind::kGet, Got(SumOf({0, 1})));
  operation_->OnHit(4);
  End(7, ChaosCallKind::kGet, Ended(absl::StatusCode::kDataLoss));
  now_ += kSecond;
  EXPECT_THAT(Calls(), UnorderedElementsAre("put 0 by 7", "reduce 0 by 7",
                                            "get 3 by 7"));
  // Others may go in now.
  End(7, ChaosCallKind::kReduce, {.sources = {1, 2}});
  End(7, ChaosCallKind::kGet, Got(SumOf({1, 2})));
  End(2, ChaosCallKind::kGet, Got(SumOf({1, 2})));
  EXPECT_TRUE(operation_->done());
  EXPECT_EQ(operation_->wrong_bytes(), 0);
}

TEST_F(ChaosOperationTest, ReadersOfOneResultGetTheSame) {
  Begin(PlanOf(Operation::kAllreduce, 2));
  Calls();
  End(7, ChaosCallKind::kGet, Got(SumOf({0, 1})));
  EXPECT_EQ(operation_->wrong_bytes(), 0);
  End(2, ChaosCallKind::kGet, Got(SumOf({1, 2})));
  EXPECT_EQ(operation_->wrong_bytes(), kBytes);
}

TEST_F(ChaosOperationTest, WhatIsReportedIsWhatIsInTheBytes) {
  Begin(PlanOf(Operation::kReduce, 2));
  Calls();
  End(4, ChaosCallKind::kGet, Got(SumOf({0, 1})));
  End(4, ChaosCallKind::kReduce, {.sources = {0, 2}});
  EXPECT_EQ(operation_->wrong_bytes(), kBytes);
}

TEST_F(ChaosOperationTest, ASourceThatWentInTwiceIsWrong) {
  Begin(PlanOf(Operation::kReduce));
  Calls();
  End(4, ChaosCallKind::kGet, Got(SumOf({0, 1, 1})));
  EXPECT_EQ(operation_->wrong_bytes(), kBytes);
}

TEST_F(ChaosOperationTest, WithoutSurvivorsItIsAbandoned) {
  Begin(PlanOf(Operation::kAllreduce));
  Calls();
  for (const int member : {2, 4, 7}) operation_->OnHit(member);
  EXPECT_TRUE(operation_->done());
  EXPECT_TRUE(operation_->abandoned());
  EXPECT_THAT(Calls(), IsEmpty());
}

TEST_F(ChaosOperationTest, WhoComesLateFindsNothing) {
  Begin(PlanOf(Operation::kBroadcast));
  Calls();
  operation_->OnHit(7);
  EXPECT_EQ(End(2, ChaosCallKind::kGet, Ended(absl::StatusCode::kNotFound)),
            ChaosVerdict::kWrong);
  End(4, ChaosCallKind::kGet, Got(kContent.Weight(0)));
  operation_->Finish();
  EXPECT_EQ(End(7, ChaosCallKind::kGet, Ended(absl::StatusCode::kNotFound)),
            ChaosVerdict::kRight);
  EXPECT_EQ(operation_->DeleteCall(99).deadline, 99);
}

}  // namespace
}  // namespace hoplite::cli
