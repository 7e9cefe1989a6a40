// Amounts of named resources: what a task needs, what a node has or has free.
//
// A name that is not listed is 0. Amounts may be negative: a worker that goes
// on after having been blocked takes its processor even where none is free.
//
// Thread safety: as a value's; none of its own.
// Units: thousandths ("milli") of a resource; of "cpu", of a processor.

#ifndef HOPLITE_RAY_INTEGRATION_SCHEDULER_RESOURCES_H_
#define HOPLITE_RAY_INTEGRATION_SCHEDULER_RESOURCES_H_

#include <compare>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace hoplite::task {

// The resource that a blocked worker gives back.
inline constexpr absl::string_view kCpu = "cpu";

struct Resource {
  std::string name;
  std::int64_t milli = 0;

  friend auto operator<=>(const Resource&, const Resource&) = default;
};

class Resources {
 public:
  Resources() = default;
  // Several of one name add up.
  Resources(std::initializer_list<Resource> amounts);
  static Resources Cpus(std::int64_t cpus);

  // Sorted by name, without zeros.
  const std::vector<Resource>& amounts() const { return amounts_; }
  bool empty() const { return amounts_.empty(); }
  std::int64_t milli(absl::string_view name) const;

  void Set(absl::string_view name, std::int64_t milli);
  void Add(const Resources& other);
  void Subtract(const Resources& other);
  // The same without `name`.
  Resources Without(absl::string_view name) const;
  // Whether for each name in `need` there is as much here.
  bool Hold(const Resources& need) const;
  bool AnyNegative() const;

  friend auto operator<=>(const Resources&, const Resources&) = default;

 private:
  void Change(absl::string_view name, std::int64_t by);

  std::vector<Resource> amounts_;
};

// "cpu 1.5, gpu 1", as it appears in messages to people; "nothing".
std::string ToString(const Resources& resources);

}  // namespace hoplite::task

#endif  // HOPLITE_RAY_INTEGRATION_SCHEDULER_RESOURCES_H_
