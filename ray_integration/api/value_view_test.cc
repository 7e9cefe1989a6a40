#include "ray_integration/api/value_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <eigen3/Eigen/Core>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "hoplite/base/testing/status_matchers.h"
#include "ray_integration/api/codec.h"
#include "ray_integration/api/value.h"

namespace hoplite::task {
namespace {

using ::testing::ElementsAre;

// A value in memory as the store has it: aligned, and `shift` bytes further.
struct Memory {
  Memory(const Encoded& encoded, std::size_t shift)
      : room(std::make_shared<std::vector<double>>(
            encoded.size_bytes() / sizeof(double) + 2)) {
    auto* start = reinterpret_cast<std::byte*>(room->data()) + shift;
    encoded.CopyTo(start);
    stored = {.bytes = {start, encoded.size_bytes()},
              .meta = encoded.meta,
              .pin = room};
  }

  bool Contains(const void* address) const {
    const auto* bytes = static_cast<const std::byte*>(address);
    return bytes >= stored.bytes.data() &&
           bytes < stored.bytes.data() + stored.bytes.size();
  }

  std::shared_ptr<std::vector<double>> room;
  Stored stored;
};

TEST(ValueTest, AVectorIsReadWhereItLies) {
  Memory memory(Encode(std::vector<float>{1, 2, 3}), 0);
  auto value = Value<std::vector<float>>::From(memory.stored);
  ASSERT_THAT(value, IsOk());
  EXPECT_THAT(**value, ElementsAre(1, 2, 3));
  EXPECT_TRUE(memory.Contains((*value)->data()));
  const std::vector<float> copy = *value;
  EXPECT_THAT(copy, ElementsAre(1, 2, 3));
}

TEST(ValueTest, AMatrixIsReadWhereItLies) {
  const Eigen::MatrixXf matrix = Eigen::MatrixXf::Random(3, 4);
  Memory memory(Encode(matrix), 0);
  auto value = Value<Eigen::MatrixXf>::From(memory.stored);
  ASSERT_THAT(value, IsOk());
  EXPECT_TRUE(**value == matrix);
  EXPECT_TRUE(memory.Contains((**value).data()));
  const Eigen::MatrixXf copy = *value;
  EXPECT_TRUE(copy == matrix);
}

TEST(ValueTest, ItPinsItsMemoryAndLetsItGo) {
  Memory memory(Encode(std::vector<int>{1}), 0);
  {
    auto value = Value<std::vector<int>>::From(std::move(memory.stored));
    memory.stored = {};
    auto copy = *value;
    EXPECT_EQ(memory.room.use_count(), 3);
  }
  EXPECT_EQ(memory.room.use_count(), 1);
}

TEST(ValueTest, WhatLiesAtAnOddAddressIsMovedToAnEvenOne) {
  Memory memory(Encode(std::vector<double>{1, 2}), 3);
  auto value = Value<std::vector<double>>::From(memory.stored);
  ASSERT_THAT(value, IsOk());
  EXPECT_THAT(**value, ElementsAre(1, 2));
  EXPECT_EQ(
      reinterpret_cast<std::uintptr_t>((*value)->data()) % alignof(double), 0);
}

TEST(ValueTest, AnythingElseIsACopy) {
  Memory memory(Encode(std::string("text")), 0);
  auto value = Value<std::string>::From(memory.stored);
  ASSERT_THAT(value, IsOk());
  EXPECT_EQ(**value, "text");
  EXPECT_EQ((*value)->size(), 4);
  const std::string copy = *value;
  EXPECT_EQ(copy, "text");
  EXPECT_EQ(memory.room.use_count(), 2);
}

TEST(ValueTest, AnotherTypeOrSizeIsRefused) {
  Memory memory(Encode(std::vector<float>{1, 2, 3}), 0);
  EXPECT_THAT(Value<std::vector<int>>::From(memory.stored),
              StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(Value<Eigen::MatrixXf>::From(memory.stored),
              StatusIs(absl::StatusCode::kInvalidArgument));
  memory.stored.bytes = memory.stored.bytes.first(11);
  EXPECT_THAT(Value<std::vector<float>>::From(memory.stored),
              StatusIs(absl::StatusCode::kInvalidArgument));
}

}  // namespace
}  // namespace hoplite::task
