#include "hoplite/runtime/client_requests.h"

#include <memory>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "hoplite/base/digest.h"
#include "hoplite/base/testing/status_matchers.h"
#include "hoplite/runtime/clock.h"

namespace hoplite {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr NodeRef kLocal{.node = NodeId(2), .incarnation = Incarnation(5)};
constexpr NodeRef kRemote{.node = NodeId(7), .incarnation = Incarnation(9)};

class NotingObserver final : public RequestObserver {
 public:
  void OnRoom(std::shared_ptr<ObjectBuffer> buffer) override {
    room = std::move(buffer);
  }
  void OnAnswer(RequestAnswer told) override {
    EXPECT_FALSE(answer.has_value());
    answer = std::move(told);
  }

  std::shared_ptr<ObjectBuffer> room;
  std::optional<RequestAnswer> answer;
};

event::GetRequested Get(RequestId request) {
  return {.request = request, .object = IdFromName("x")};
}

command::AnswerRequest Answer(RequestId request, absl::StatusCode code) {
  command::AnswerRequest answer;
  answer.request = request;
  answer.code = code;
  return answer;
}

class DoubtfulRequestsTest : public ::testing::Test {
 protected:
  // A Get that has its success, in doubt.
  std::shared_ptr<NotingObserver> Held(absl::Time deadline) {
    auto observer = std::make_shared<NotingObserver>();
    event::GetRequested get = Get(requests_.NewRequest());
    get.deadline = deadline;
    EXPECT_TRUE(requests_.Add(get, observer));
    doubtful_ = true;
    requests_.Answer(Answer(get.request, absl::StatusCode::kOk), kLocal, "",
                     nullptr);
    EXPECT_FALSE(observer->answer.has_value());
    return observer;
  }

  bool doubtful_ = false;
  ClientRequests requests_{0, [this] { return doubtful_; }};
};

TEST_F(DoubtfulRequestsTest, ASuccessWaitsUntilThereIsNoDoubt) {
  const auto observer = Held(absl::InfiniteFuture());
  requests_.Review(/*doubtful=*/true, kLocal);
  EXPECT_FALSE(observer->answer.has_value());
  requests_.Review(/*doubtful=*/false, kLocal);
  ASSERT_TRUE(observer->answer.has_value());
  EXPECT_THAT(observer->answer->status, IsOk());
}

TEST_F(DoubtfulRequestsTest, WhatWaitsEndsAtItsDeadlineAndSaysWhy) {
  const auto observer = Held(SystemClock::Now());
  requests_.Review(/*doubtful=*/true, kLocal);
  ASSERT_TRUE(observer->answer.has_value());
  EXPECT_THAT(
      observer->answer->status,
      StatusIs(absl::StatusCode::kDeadlineExceeded, HasSubstr("stood still")));
}

TEST_F(DoubtfulRequestsTest, WhatWaitsEndsWithTheLifeOfTheNode) {
  const auto observer = Held(absl::InfiniteFuture());
  requests_.Close(kLocal, absl::StatusCode::kUnavailable, "declared dead");
  ASSERT_TRUE(observer->answer.has_value());
  EXPECT_THAT(observer->answer->status,
              StatusIs(absl::StatusCode::kUnavailable));
  requests_.Review(/*doubtful=*/false, kLocal);
}

TEST(ClientRequestsTest, AnErrorNamesAllThatIsKnownOfIt) {
  command::AnswerRequest answer =
      Answer(RequestId(1), absl::StatusCode::kDeadlineExceeded);
  answer.detail = "no byte came from its server";
  answer.remote = kRemote;
  answer.bytes_done = 1024;
  answer.bytes_total = 4096;
  const absl::Status status =
      DescribeFailure(answer, {.operation = "Get",
                               .object = IdFromName("x"),
                               .local = kLocal,
                               .remote_address = "10.0.0.5:7001",
                               .taken = absl::Milliseconds(5003),
                               .timeout = absl::Seconds(5)});
  EXPECT_THAT(
      status,
      StatusIs(absl::StatusCode::kDeadlineExceeded,
               AllOf(HasSubstr("Get of " + IdFromName("x").ToHex()),
                     HasSubstr("on node 2"),
                     HasSubstr("no byte came from its server"),
                     HasSubstr("remote node 7 at 10.0.0.5:7001"),
                     HasSubstr("1024 of 4096 bytes done"),
                     HasSubstr("after 5.003s"), HasSubstr("deadline 5.000s"))));
}

TEST(ClientRequestsTest, ARequestIsAnsweredOnce) {
  ClientRequests table;
  const auto observer = std::make_shared<NotingObserver>();
  const RequestId request = table.NewRequest();
  ASSERT_TRUE(table.Add(Get(request), observer));
  EXPECT_EQ(table.Find(request), observer);
  table.Answer(Answer(request, absl::StatusCode::kOk), kLocal, "", nullptr);
  ASSERT_TRUE(observer->answer.has_value());
  EXPECT_THAT(observer->answer->status, IsOk());
  EXPECT_EQ(table.Find(request), nullptr);
  table.Answer(Answer(request, absl::StatusCode::kOk), kLocal, "", nullptr);
  EXPECT_EQ(table.started(), 1U);
  EXPECT_EQ(table.failed(), 0U);
}

TEST(ClientRequestsTest, ClosingAnswersWhatWaitsAndWhatComesLater) {
  ClientRequests table;
  const auto waits = std::make_shared<NotingObserver>();
  const auto later = std::make_shared<NotingObserver>();
  ASSERT_TRUE(table.Add(Get(table.NewRequest()), waits));
  table.Close(kLocal);
  EXPECT_FALSE(table.Add(Get(table.NewRequest()), later));
  for (const auto& observer : {waits, later}) {
    ASSERT_TRUE(observer->answer.has_value());
    EXPECT_THAT(
        observer->answer->status,
        StatusIs(absl::StatusCode::kCancelled,
                 AllOf(HasSubstr("shutting down"), HasSubstr("no deadline"))));
  }
  EXPECT_EQ(table.failed(), 2U);
}

TEST(ClientRequestsTest, RequestsAreNumberedOnce) {
  ClientRequests table;
  EXPECT_NE(table.NewRequest(), table.NewRequest());
}

}  // namespace
}  // namespace hoplite
