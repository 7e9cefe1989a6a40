#include "hoplite/cli/chaos_faults.h"

#include <utility>

#include "hoplite/base/check.h"

namespace hoplite::cli {
namespace {

// On average two seconds apart, while most last for longer: they overlap.
constexpr std::uint64_t kGapMaxMs = 4000;
// A node that is killed is away for longer than it takes to be declared dead.
constexpr std::uint64_t kAwayMinMs = 1000;
constexpr std::uint64_t kAwayMaxMs = 5000;
// Half of the silences are shorter than that after which a node counts as dead.
constexpr std::uint64_t kSilentMinMs = 100;
constexpr std::uint64_t kSilentShortMs = 1000;
constexpr std::uint64_t kSilentMaxMs = 10'000;
// Without a head all that needs it waits.
constexpr std::uint64_t kHeadlessMaxMs = 2000;

}  // namespace

ChaosFaults::ChaosFaults(std::uint64_t seed, std::vector<ChaosFault> kinds)
    : random_(seed), kinds_(std::move(kinds)) {
  HOPLITE_CHECK(!kinds_.empty());
}

DrawnFault ChaosFaults::Draw() {
  if (round_.empty()) {
    round_ = kinds_;
    random_.Shuffle(round_);
  }
  DrawnFault drawn;
  drawn.fault = round_.back();
  round_.pop_back();
  drawn.gap = absl::Milliseconds(random_.Below(kGapMaxMs));
  drawn.length = DrawLength(drawn.fault);
  drawn.victim = random_.Next();
  return drawn;
}

absl::Duration ChaosFaults::DrawLength(ChaosFault fault) {
  switch (fault) {
    case ChaosFault::kKill:
      return absl::Milliseconds(random_.Between(kAwayMinMs, kAwayMaxMs));
    case ChaosFault::kRestart:
      return absl::ZeroDuration();
    case ChaosFault::kStop:
    case ChaosFault::kCut:
      return absl::Milliseconds(
          random_.Chance(1, 2) ? random_.Between(kSilentMinMs, kSilentShortMs)
                               : random_.Between(kSilentShortMs, kSilentMaxMs));
    case ChaosFault::kHead:
      return absl::Milliseconds(random_.Below(kHeadlessMaxMs));
  }
  return absl::ZeroDuration();
}

}  // namespace hoplite::cli
