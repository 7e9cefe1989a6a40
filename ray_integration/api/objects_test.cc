#include "ray_integration/api/objects.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <eigen3/Eigen/Core>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "hoplite/base/reduction.h"
#include "hoplite/base/testing/status_matchers.h"
#include "ray_integration/api/object_ref.h"
#include "ray_integration/api/runtime.h"
#include "ray_integration/api/testing/local_runtime.h"
#include "ray_integration/api/value_view.h"

namespace hoplite::task {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr absl::Duration kSecond = absl::Seconds(1);

class ObjectsTest : public ::testing::Test {
 protected:
  template <typename T>
  ObjectRef<T> Failed(absl::Status why) {
    return ObjectRef<T>(runtime_.FailedReference(std::move(why)));
  }

  LocalRuntime runtime_;
};

TEST_F(ObjectsTest, WhatIsPutComesBack) {
  EXPECT_EQ(**Get(Put(3)), 3);
  EXPECT_EQ(**Get(Put(std::string("text")), kSecond), "text");
  const Eigen::MatrixXf matrix = Eigen::MatrixXf::Random(2, 3);
  EXPECT_TRUE(**Get(Put(matrix)) == matrix);
}

TEST_F(ObjectsTest, WhatCameInsideAMessageIsReadAsWell) {
  runtime_.set_misalignment(3);
  EXPECT_THAT(**Get(Put(std::vector<double>{1, 2})), ElementsAre(1, 2));
  EXPECT_EQ(**Get(Put(2.5)), 2.5);
}

TEST_F(ObjectsTest, APutThatFailsIsAnErrorOfItsReference) {
  runtime_.FailPuts(absl::ResourceExhaustedError("the store is full"));
  EXPECT_THAT(Get(Put(1)), StatusIs(absl::StatusCode::kResourceExhausted));
}

TEST_F(ObjectsTest, ManyComeInTheirOrderOrAsTheFirstError) {
  std::vector<ObjectRef<int>> refs = {Put(1), Put(2), Put(3)};
  const auto all = Get(refs, kSecond);
  ASSERT_THAT(all, IsOk());
  EXPECT_THAT(std::vector<int>(all->begin(), all->end()), ElementsAre(1, 2, 3));
  refs[1] = Failed<int>(absl::AbortedError("lost"));
  EXPECT_THAT(Get(refs), StatusIs(absl::StatusCode::kAborted, "lost"));
}

TEST_F(ObjectsTest, AReferenceToNothingIsAnError) {
  EXPECT_THAT(Get(ObjectRef<int>()),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("refers to nothing")));
  const std::vector<ObjectRef<int>> refs = {Put(1), ObjectRef<int>()};
  EXPECT_THAT(Get(refs), StatusIs(absl::StatusCode::kInvalidArgument,
                                  HasSubstr("number 2")));
  EXPECT_THAT(Wait(refs, 1), StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(Get(Reduce(refs, ReduceOp::kSum)),
              StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST_F(ObjectsTest, WaitIsForNoMoreThanThereAre) {
  const std::vector<ObjectRef<int>> refs = {Put(1), Put(2)};
  EXPECT_THAT(Wait(refs, 2, kSecond), IsOkAndHolds(ElementsAre(0, 1)));
  EXPECT_THAT(Wait(refs, 3), StatusIs(absl::StatusCode::kInvalidArgument,
                                      HasSubstr("never ends")));
}

TEST_F(ObjectsTest, AReduceFoldsThoseThatHaveNotFailed) {
  const std::vector<ObjectRef<std::vector<float>>> refs = {
      Put(std::vector<float>{1, 2}),
      Failed<std::vector<float>>(absl::AbortedError("lost")),
      Put(std::vector<float>{10, 20})};
  const auto total = Reduce(refs, ReduceOp::kSum, 2);
  EXPECT_THAT(**Get(total), ElementsAre(11, 22));
  EXPECT_THAT(ReducedRefs(total, refs), IsOkAndHolds(ElementsAre(0, 2)));
  EXPECT_THAT(ReducedRefs(total),
              IsOkAndHolds(ElementsAre(refs[0].id(), refs[2].id())));
  EXPECT_THAT(Get(Reduce(refs, ReduceOp::kSum)),
              StatusIs(absl::StatusCode::kAborted));
}

TEST_F(ObjectsTest, MatricesAndNumbersAreReducedToo) {
  const Eigen::MatrixXd one = Eigen::MatrixXd::Ones(2, 3);
  const std::vector<ObjectRef<Eigen::MatrixXd>> matrices = {Put(one), Put(one)};
  const Eigen::MatrixXd two = 2 * one;
  EXPECT_TRUE(**Get(Reduce(matrices, ReduceOp::kSum)) == two);
  const std::vector<ObjectRef<int>> numbers = {Put(4), Put(9)};
  EXPECT_EQ(**Get(Reduce(numbers, ReduceOp::kMax)), 9);
}

TEST_F(ObjectsTest, AReduceThatCannotBeIsAnErrorOfItsResult) {
  const std::vector<ObjectRef<float>> refs = {Put(1.0f)};
  constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
  EXPECT_THAT(Get(Reduce(refs, ReduceOp::kBitXor)),
              StatusIs(kInvalid, HasSubstr("no bxor of elements of f32")));
  EXPECT_THAT(Get(Reduce(refs, ReduceOp::kSum, 2)),
              StatusIs(kInvalid, HasSubstr("name 1 to 1")));
  EXPECT_THAT(Get(Reduce(refs, ReduceOp::kSum, 0)), StatusIs(kInvalid));
  EXPECT_THAT(Get(Reduce(std::vector<ObjectRef<int>>(), ReduceOp::kSum)),
              StatusIs(kInvalid, HasSubstr("no references")));
}

TEST_F(ObjectsTest, ACancelledTaskSeesIt) {
  EXPECT_FALSE(IsCancelled());
  Cancel(Put(1));
  Cancel(ObjectRef<int>());
  EXPECT_EQ(runtime_.cancels(), 1);
  EXPECT_TRUE(IsCancelled());
}

}  // namespace
}  // namespace hoplite::task
