// What the checkers have found wrong in a run.
//
// Thread safety: none; one thread at a time.

#ifndef HOPLITE_SIM_VIOLATIONS_H_
#define HOPLITE_SIM_VIOLATIONS_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace hoplite::sim {

struct Violation {
  std::string checker;
  absl::Time time;
  std::string what;
};

class Violations {
 public:
  // The same is kept once, and of very many only the first.
  void Add(absl::string_view checker, absl::Time time, std::string what) {
    if (found_.size() >= kKeptMax) return;
    for (const Violation& each : found_) {
      if (each.checker == checker && each.what == what) return;
    }
    found_.push_back(Violation{std::string(checker), time, std::move(what)});
  }
  bool empty() const { return found_.empty(); }
  const std::vector<Violation>& found() const { return found_; }
  // True where this checker has found something.
  bool FoundBy(absl::string_view checker) const {
    for (const Violation& each : found_) {
      if (each.checker == checker) return true;
    }
    return false;
  }

 private:
  static constexpr std::size_t kKeptMax = 100;
  std::vector<Violation> found_;
};

}  // namespace hoplite::sim

#endif  // HOPLITE_SIM_VIOLATIONS_H_
