// Whose gradient may be an error, and so never comes: the workers to look at.
//
// A reduction leaves out what has failed and says nothing of it. But it takes
// the first that are ready: a gradient that was ready before two updates and
// is in neither has either failed, or waits where many do.
//
// Thread safety: none; one thread at a time.

#ifndef HOPLITE_APPS_PARAMETER_SERVER_OVERDUE_H_
#define HOPLITE_APPS_PARAMETER_SERVER_OVERDUE_H_

#include <cstddef>
#include <span>
#include <vector>

namespace hoplite::apps {

class Overdue {
 public:
  explicit Overdue(std::size_t workers) : passed_over_(workers, 0) {}

  // An update was made: whose gradients were ready before it began, and whose
  // are in it. Those to look at, in order. REQUIRES: all below `workers`.
  std::vector<std::size_t> Update(std::span<const std::size_t> ready,
                                  std::span<const std::size_t> taken);

 private:
  std::vector<int> passed_over_;  // how often in a row
};

}  // namespace hoplite::apps

#endif  // HOPLITE_APPS_PARAMETER_SERVER_OVERDUE_H_
