#include "hoplite/core/local/request_table.h"

#include <gtest/gtest.h>

#include <optional>

#include "hoplite/core/testing/commands.h"
#include "hoplite/core/testing/values.h"

namespace hoplite {
namespace {

using testing::All;
using testing::At;
using testing::Id;

class RequestTableTest : public ::testing::Test {
 protected:
  void Add(std::uint64_t id, absl::Time deadline) {
    table_.Add(RequestId(id), {RequestKind::kGet, Id(1), deadline});
  }
  void Answer(std::uint64_t id) {
    table_.Answer({.request = RequestId(id)}, out_);
  }

  RequestTable table_;
  Commands out_;
};

TEST_F(RequestTableTest, FindsWhatWaits) {
  table_.Add(RequestId(4), {RequestKind::kDelete, Id(9), At(3)});
  ASSERT_NE(table_.Find(RequestId(4)), nullptr);
  EXPECT_EQ(table_.Find(RequestId(4))->kind, RequestKind::kDelete);
  EXPECT_EQ(table_.Find(RequestId(4))->object, Id(9));
  EXPECT_EQ(table_.Find(RequestId(5)), nullptr);
  EXPECT_EQ(table_.size(), 1u);
  EXPECT_EQ(table_.all().size(), 1u);
}

TEST_F(RequestTableTest, ARequestIsAnsweredOnce) {
  Add(1, At(5));
  Answer(1);
  Answer(1);
  Answer(2);
  EXPECT_EQ(All<command::AnswerRequest>(out_).size(), 1u);
  EXPECT_EQ(table_.size(), 0u);
  EXPECT_EQ(table_.NextDeadline(), std::nullopt);
}

TEST_F(RequestTableTest, TheNearestDeadlineIsNext) {
  EXPECT_EQ(table_.NextDeadline(), std::nullopt);
  Add(1, At(5));
  Add(2, At(3));
  Add(3, absl::InfiniteFuture());
  EXPECT_EQ(table_.NextDeadline(), At(3));
  EXPECT_EQ(table_.NextExpired(At(2)), std::nullopt);
  EXPECT_EQ(table_.NextExpired(At(3)), RequestId(2));
  EXPECT_EQ(table_.NextExpired(At(3)), RequestId(2)) << "until it is answered";
  Answer(2);
  EXPECT_EQ(table_.NextExpired(At(4)), std::nullopt);
  EXPECT_EQ(table_.NextDeadline(), At(5));
}

TEST_F(RequestTableTest, EqualDeadlinesExpireInOrder) {
  Add(2, At(1));
  Add(1, At(1));
  EXPECT_EQ(table_.NextExpired(At(9)), RequestId(1));
  Answer(1);
  EXPECT_EQ(table_.NextExpired(At(9)), RequestId(2));
  Answer(2);
  EXPECT_EQ(table_.NextExpired(At(9)), std::nullopt);
}

TEST_F(RequestTableTest, WithoutADeadlineARequestNeverExpires) {
  Add(1, absl::InfiniteFuture());
  EXPECT_EQ(table_.NextDeadline(), std::nullopt);
  EXPECT_EQ(table_.NextExpired(absl::InfiniteFuture()), std::nullopt);
  Answer(1);
  EXPECT_EQ(table_.size(), 0u);
}

TEST_F(RequestTableTest, AnIdIsNeverUsedTwice) {
  Add(1, At(5));
  EXPECT_DEATH(Add(1, At(6)), "CHECK failed");
}

}  // namespace
}  // namespace hoplite
