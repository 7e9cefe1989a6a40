#include "ray_integration/scheduler/argument_room.h"

#include <gtest/gtest.h>

#include <vector>

namespace hoplite::task {
namespace {

LeaseArgument Object(std::uint64_t number, std::uint64_t bytes) {
  const ProcessId owner{{NodeId(1), Incarnation(1)}, WorkerNumber(1)};
  return {MakeObjectId(owner, number), bytes, {}};
}

class ArgumentRoomTest : public testing::Test {
 protected:
  // The arrivals of what was begun, as they are, and given up, negative.
  std::vector<int> Plan() {
    std::vector<ArgumentRoom::Change> changes;
    room_.Plan(changes);
    EXPECT_EQ(room_.CheckInvariants(), "");
    std::vector<int> result;
    for (const auto& each : changes) {
      const int arrival = static_cast<int>(each.key.arrival);
      result.push_back(each.drop ? -arrival : arrival);
    }
    return result;
  }

  ArgumentRoom room_{400};  // 300 of it for arguments
};

using Numbers = std::vector<int>;

TEST_F(ArgumentRoomTest, AQuarterOfTheStoreIsNeverTaken) {
  EXPECT_TRUE(room_.CouldHold({Object(1, 300)}));
  EXPECT_FALSE(room_.CouldHold({Object(1, 200), Object(2, 101)}));
  EXPECT_FALSE(room_.CouldHold({Object(1, UINT64_MAX), Object(2, 5)}));
  room_.Add({0, 1}, {Object(1, 200)});
  room_.Add({0, 2}, {Object(2, 101)});
  EXPECT_EQ(Plan(), Numbers({1}));
  room_.Remove({0, 1});
  EXPECT_EQ(Plan(), Numbers({2}));
}

TEST_F(ArgumentRoomTest, ATasksArgumentsFindRoomAsAWhole) {
  room_.Add({0, 1}, {Object(1, 200)});
  room_.Add({0, 2}, {Object(2, 50), Object(3, 60)});
  EXPECT_EQ(Plan(), Numbers({1}));
  EXPECT_EQ(room_.bytes(), 200u);
}

TEST_F(ArgumentRoomTest, ALaterRequestDoesNotOvertakeOneThatWaits) {
  room_.Add({0, 1}, {Object(1, 200)});
  room_.Add({0, 2}, {Object(2, 150)});
  room_.Add({0, 3}, {Object(3, 50)});
  EXPECT_EQ(Plan(), Numbers({1}));
  room_.Remove({0, 1});
  EXPECT_EQ(Plan(), Numbers({2, 3}));
}

TEST_F(ArgumentRoomTest, AnEarlierNeedMakesItGiveUpWhatItFetchedForLaterOnes) {
  room_.Add({5, 1}, {Object(1, 100)});
  room_.Add({5, 2}, {Object(2, 100)});
  room_.Add({5, 3}, {Object(3, 100)});
  EXPECT_EQ(Plan(), Numbers({1, 2, 3}));
  room_.Add({4, 4}, {Object(4, 150)});  // deeper
  EXPECT_EQ(Plan(), Numbers({-3, -2, 4}));
  room_.Remove({4, 4});
  EXPECT_EQ(Plan(), Numbers({2, 3}));
}

TEST_F(ArgumentRoomTest, AGrantedLeaseKeepsItsArguments) {
  room_.Add({5, 1}, {Object(1, 200)});
  EXPECT_EQ(Plan(), Numbers({1}));
  room_.Keep({5, 1});
  room_.Add({4, 2}, {Object(2, 200)});
  EXPECT_EQ(Plan(), Numbers());
  room_.Remove({5, 1});
  EXPECT_EQ(Plan(), Numbers({2}));
}

TEST_F(ArgumentRoomTest, AnObjectThatSeveralWantTakesItsRoomOnce) {
  for (std::uint64_t i = 1; i <= 9; ++i) room_.Add({0, i}, {Object(1, 300)});
  EXPECT_EQ(Plan().size(), 9u);
  EXPECT_EQ(room_.bytes(), 300u);
  for (std::uint64_t i = 1; i <= 9; ++i) room_.Remove({0, i});
  EXPECT_EQ(room_.bytes(), 0u);
}

TEST_F(ArgumentRoomTest, AnOldFetchIsNotFoundOnceItIsGivenUp) {
  room_.Add({5, 1}, {Object(1, 200)});
  std::vector<ArgumentRoom::Change> changes;
  room_.Plan(changes);
  const FetchId old = changes.at(0).fetch;
  ASSERT_NE(room_.Find(old), nullptr);
  room_.Add({4, 2}, {Object(2, 200)});
  EXPECT_EQ(Plan(), Numbers({-1, 2}));
  EXPECT_EQ(room_.Find(old), nullptr);
  room_.Remove({4, 2});
  EXPECT_EQ(Plan(), Numbers({1}));
  EXPECT_EQ(room_.Find(old), nullptr);
}

}  // namespace
}  // namespace hoplite::task
