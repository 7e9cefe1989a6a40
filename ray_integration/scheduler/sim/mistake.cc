#include "ray_integration/scheduler/sim/mistake.h"

#include <iterator>

namespace hoplite::task::sim {
namespace {

constexpr absl::string_view kNames[] = {
    "none",           "lose request",       "forget return",
    "forget worker",  "forget resumed",     "forget owner",
    "take unready",   "reverse depth",      "forget hops",
    "lose grant",     "lose refusal",       "grant twice",
    "answer twice",   "reclaim at once",    "fail calls",
    "overcommit",     "take results' room", "too many workers",
    "queue too long", "accept twice",       "lose task"};
static_assert(std::size(kNames) ==
              static_cast<std::size_t>(Mistake::kLoseTask) + 1);

}  // namespace

absl::string_view ToString(Mistake mistake) {
  return kNames[static_cast<std::size_t>(mistake)];
}

std::vector<Mistake> AllMistakes() {
  std::vector<Mistake> all;
  for (std::size_t i = 1; i < std::size(kNames); ++i) {
    all.push_back(static_cast<Mistake>(i));
  }
  return all;
}

}  // namespace hoplite::task::sim
