#include "ray_integration/base/process_id.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

#include "hoplite/base/random.h"

namespace hoplite::task {
namespace {

ProcessId Process(std::uint32_t node, std::uint64_t life,
                  std::uint32_t worker) {
  return {{NodeId(node), Incarnation(life)}, WorkerNumber(worker)};
}

TEST(ProcessIdTest, AnIdSaysWhoOwnsIt) {
  Random random(7);
  for (int i = 0; i < 1000; ++i) {
    const auto number = [&] {
      return 1 + random.Below(std::numeric_limits<std::uint32_t>::max());
    };
    const ProcessId owner =
        Process(static_cast<std::uint32_t>(number()), number() << 20,
                static_cast<std::uint32_t>(number()));
    const std::uint64_t counter = number() << 20;
    const ObjectId id = MakeObjectId(owner, counter);
    EXPECT_EQ(OwnerOf(id), owner);
    EXPECT_EQ(CounterOf(id), counter);
  }
}

TEST(ProcessIdTest, IdsOfOneOwnerAreInTheOrderOfTheirCounters) {
  const ProcessId owner = Process(3, 7, 4);
  EXPECT_LT(MakeObjectId(owner, 255), MakeObjectId(owner, 256));
  EXPECT_LT(MakeObjectId(owner, 1u << 31), MakeObjectId(owner, 1ull << 32));
}

TEST(ProcessIdTest, AnIdOfAnotherMakeHasNoOwner) {
  EXPECT_FALSE(OwnerOf(ObjectId()));
  ObjectId::Bytes bytes = MakeObjectId(Process(1, 2, 3), 4).bytes();
  bytes.back() = 1;
  EXPECT_FALSE(OwnerOf(ObjectId(bytes)));
  EXPECT_EQ(CounterOf(ObjectId(bytes)), 0u);
}

TEST(ProcessIdTest, WithoutAnOwnerOrACounterThereIsNoId) {
  EXPECT_DEATH(MakeObjectId(ProcessId(), 1), "CHECK failed");
  EXPECT_DEATH(MakeObjectId(Process(1, 2, 3), 0), "CHECK failed");
}

TEST(ProcessIdTest, PeopleReadNodeAndWorker) {
  EXPECT_EQ(ToString(Process(3, 7, 4)), "worker 4 of node 3");
}

}  // namespace
}  // namespace hoplite::task
