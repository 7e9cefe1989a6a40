// Samples a second, from when each update was made.
//
// The first updates warm up: connections are opened, memory is touched for
// the first time, workers drift apart. They are not counted.
//
// Thread safety: none; one thread at a time.

#ifndef HOPLITE_APPS_PARAMETER_SERVER_THROUGHPUT_H_
#define HOPLITE_APPS_PARAMETER_SERVER_THROUGHPUT_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/time/time.h"

namespace hoplite::apps {

class Throughput {
 public:
  // The clock starts with the last of `warm_up` updates, or at `begin`.
  Throughput(absl::Time begin, int warm_up);

  // An update of so many samples, now.
  void Count(absl::Time now, std::int64_t samples);

  int updates() const { return updates_; }
  std::int64_t samples() const { return samples_; }  // warm-up and all
  int timed_updates() const { return static_cast<int>(timed_.size()); }
  absl::Duration timed() const;
  // Over all that is timed; 0 without any.
  double samples_per_second() const;
  // The same of at most `parts` parts of it, one after the other, of as many
  // updates each. What is left over at the end is in none.
  std::vector<double> Parts(std::size_t parts) const;

 private:
  struct Update {
    absl::Time when;
    std::int64_t samples;
  };

  const int warm_up_;
  absl::Time begin_;
  int updates_ = 0;
  std::int64_t samples_ = 0;
  std::vector<Update> timed_;
};

}  // namespace hoplite::apps

#endif  // HOPLITE_APPS_PARAMETER_SERVER_THROUGHPUT_H_
