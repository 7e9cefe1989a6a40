#include "ray_integration/worker/plain_reduce.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "hoplite/base/id.h"
#include "hoplite/base/reduction.h"
#include "hoplite/base/testing/status_matchers.h"
#include "ray_integration/api/runtime.h"
#include "ray_integration/api/testing/local_runtime.h"
#include "ray_integration/api/value.h"

namespace hoplite::task {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Functions are registered once in a program, and so this is one, too.
struct Shared {
  LocalRuntime runtime;
  std::vector<ObjectId> reduced;

  Shared() {
    RegisterPlainReduce(runtime, [this](std::vector<ObjectId> sources) {
      reduced = std::move(sources);
    });
  }
  static Shared& Get() {
    static Shared shared;
    return shared;
  }
};

class PlainReduceTest : public ::testing::Test {
 protected:
  PlainReduceTest() { Shared::Get().reduced.clear(); }

  Reference Put(const std::vector<float>& numbers,
                const std::string& meta = "shape") {
    Encoded value;
    value.meta = meta;
    if (!numbers.empty()) {
      value.pieces.push_back(std::as_bytes(std::span(numbers)));
    }
    return runtime_.Put(value).value();
  }
  absl::StatusOr<std::vector<float>> Reduce(
      const std::vector<Reference>& sources, ReduceOp op = ReduceOp::kSum,
      std::optional<std::uint32_t> count = std::nullopt) {
    const Reference target =
        runtime_.Submit(PlainReduceCall(sources, op, DataType::kF32, count));
    const auto got = runtime_.Get(target, absl::InfiniteDuration());
    if (!got.ok()) return got.status();
    meta_ = got->meta;
    std::vector<float> numbers(got->bytes.size() / sizeof(float));
    if (!numbers.empty()) {
      std::memcpy(numbers.data(), got->bytes.data(), got->bytes.size());
    }
    return numbers;
  }

  LocalRuntime& runtime_ = Shared::Get().runtime;
  std::vector<ObjectId>& reduced_ = Shared::Get().reduced;
  std::string meta_;
};

TEST_F(PlainReduceTest, AddsAllSourcesAndSaysWhichTheyWere) {
  const Reference a = Put({1, 2}, "a");
  const Reference b = Put({10, 20}, "a");
  const Reference c = Put({100, 200}, "a");
  EXPECT_THAT(Reduce({a, b, c}), IsOkAndHolds(ElementsAre(111, 222)));
  EXPECT_EQ(meta_, "a");
  EXPECT_THAT(reduced_, ElementsAre(a->id, b->id, c->id));
}

TEST_F(PlainReduceTest, OneSourceIsItsOwnReduction) {
  EXPECT_THAT(Reduce({Put({1, 2})}, ReduceOp::kAverage),
              IsOkAndHolds(ElementsAre(1, 2)));
}

TEST_F(PlainReduceTest, TheAverageIsOfThoseThatWentIn) {
  const std::vector<Reference> sources = {Put({2}), Put({4}), Put({90})};
  EXPECT_THAT(Reduce(sources, ReduceOp::kAverage),
              IsOkAndHolds(ElementsAre(32)));
  EXPECT_THAT(Reduce(sources, ReduceOp::kAverage, 2),
              IsOkAndHolds(ElementsAre(3)));
  EXPECT_THAT(reduced_, ElementsAre(sources[0]->id, sources[1]->id));
}

TEST_F(PlainReduceTest, SourcesThatFailedAreLeftOutWhereEnoughAreLeft) {
  const Reference failed =
      runtime_.FailedReference(absl::OutOfRangeError("too far"));
  const Reference a = Put({1});
  const Reference b = Put({2});
  EXPECT_THAT(Reduce({failed, a, b}, ReduceOp::kSum, 2),
              IsOkAndHolds(ElementsAre(3)));
  EXPECT_THAT(reduced_, ElementsAre(a->id, b->id));
  reduced_.clear();
  EXPECT_THAT(Reduce({a, failed, b}),
              StatusIs(absl::StatusCode::kOutOfRange, HasSubstr("too far")));
  EXPECT_THAT(reduced_, IsEmpty());
}

TEST_F(PlainReduceTest, SourcesOfSeveralSizesAreRefused) {
  EXPECT_THAT(Reduce({Put({1}), Put({1, 2})}),
              StatusIs(absl::StatusCode::kInvalidArgument));
  // Also where the first one has no elements.
  EXPECT_THAT(Reduce({Put({}), Put({1})}),
              StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST_F(PlainReduceTest, SourcesOfSeveralShapesAreRefused) {
  EXPECT_THAT(Reduce({Put({1, 2}, "2 x 1"), Put({1, 2}, "1 x 2")}),
              StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST_F(PlainReduceTest, VectorsWithoutElementsHaveAReduction) {
  EXPECT_THAT(Reduce({Put({}), Put({})}), IsOkAndHolds(IsEmpty()));
}

TEST_F(PlainReduceTest, ACallWithoutItsPlanIsRefused) {
  Call call{.function = kPlainReduce};
  EXPECT_THAT(runtime_.Get(runtime_.Submit(call), absl::InfiniteDuration()),
              StatusIs(absl::StatusCode::kInvalidArgument));
  call.arguments.emplace_back(Encoded());
  EXPECT_THAT(runtime_.Get(runtime_.Submit(call), absl::InfiniteDuration()),
              StatusIs(absl::StatusCode::kInvalidArgument));
}

}  // namespace
}  // namespace hoplite::task
