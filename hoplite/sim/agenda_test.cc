#include "hoplite/sim/agenda.h"

#include <gtest/gtest.h>

#include <vector>

namespace hoplite::sim {
namespace {

constexpr absl::Duration kSecond = absl::Seconds(1);

TEST(AgendaTest, OccurrencesHappenInOrderOfTimeThenOfEntry) {
  Agenda agenda;
  std::vector<int> order;
  agenda.After(2 * kSecond, [&] { order.push_back(4); });
  agenda.After(kSecond, [&] { order.push_back(1); });
  agenda.After(kSecond, [&] {
    order.push_back(2);
    agenda.After(absl::ZeroDuration(), [&] { order.push_back(3); });
  });
  while (agenda.NextTime().has_value()) agenda.RunNext();
  EXPECT_EQ(order, (std::vector<int>{1, 2, 3, 4}));
  EXPECT_EQ(agenda.now(), absl::UnixEpoch() + 2 * kSecond);
  EXPECT_EQ(agenda.count(), 4u);
}

TEST(AgendaTest, TimersAreNoWork) {
  Agenda agenda;
  agenda.After(
      kSecond, [] {}, Weight::kTimer);
  EXPECT_EQ(agenda.work_left(), 0u);
  agenda.After(kSecond, [] {});
  EXPECT_EQ(agenda.work_left(), 1u);
  agenda.RunNext();
  agenda.RunNext();
  EXPECT_EQ(agenda.work_left(), 0u);
  EXPECT_EQ(agenda.NextTime(), std::nullopt);
}

}  // namespace
}  // namespace hoplite::sim
