#include "experiments/progress.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_format.h"
#include "hoplite/base/check.h"

namespace hoplite::experiments {
namespace {

constexpr std::size_t kBarLength = 20;

// "50 s left", "4 min left".
std::string LeftText(absl::Duration left) {
  if (left < absl::Minutes(1)) {
    return absl::StrFormat("%.0f s left", absl::ToDoubleSeconds(left));
  }
  return absl::StrFormat("%.0f min left", absl::ToDoubleMinutes(left));
}

}  // namespace

Progress::Progress(std::vector<absl::Duration> expected)
    : expected_(std::move(expected)) {}

void Progress::Done(absl::Duration took) {
  HOPLITE_CHECK(done_ < expected_.size());
  expected_done_ += expected_[done_];
  took_ += took;
  ++done_;
}

absl::Duration Progress::Left(absl::Duration elapsed) const {
  if (done_ == expected_.size()) return absl::ZeroDuration();
  const double slower = expected_done_ > absl::ZeroDuration()
                            ? absl::FDivDuration(took_, expected_done_)
                            : 1;
  absl::Duration left =
      std::max(absl::ZeroDuration(), expected_[done_] * slower - elapsed);
  for (std::size_t i = done_ + 1; i < expected_.size(); ++i) {
    left += expected_[i] * slower;
  }
  return left;
}

std::string Progress::Line(absl::Duration elapsed,
                           absl::string_view title) const {
  const std::size_t parts = std::max<std::size_t>(expected_.size(), 1);
  const std::size_t full = kBarLength * done_ / parts;
  return absl::StrFormat("[%s%s] %2d/%d  %s  %s", std::string(full, '#'),
                         std::string(kBarLength - full, '-'), done_,
                         expected_.size(), LeftText(Left(elapsed)), title);
}

}  // namespace hoplite::experiments
