// How far a long measurement is, and how long it will still take.
//
// Its parts were given a time that each may take. What the parts that are
// done really took corrects the rest.
//
// Thread safety: none; one thread at a time.

#ifndef HOPLITE_EXPERIMENTS_PROGRESS_H_
#define HOPLITE_EXPERIMENTS_PROGRESS_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace hoplite::experiments {

class Progress {
 public:
  // One of each part, in order.
  explicit Progress(std::vector<absl::Duration> expected);

  // The next part is done. REQUIRES: there is one.
  void Done(absl::Duration took);

  std::size_t done() const { return done_; }
  // Where the part under way began so long ago.
  absl::Duration Left(absl::Duration elapsed) const;
  // "[######--------------]  3/12  2 min left  AlexNet, 8 hosts, plain"
  std::string Line(absl::Duration elapsed, absl::string_view title) const;

 private:
  absl::Duration expected_done_;
  absl::Duration took_;
  std::size_t done_ = 0;
  const std::vector<absl::Duration> expected_;
};

}  // namespace hoplite::experiments

#endif  // HOPLITE_EXPERIMENTS_PROGRESS_H_
