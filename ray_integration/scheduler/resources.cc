#include "ray_integration/scheduler/resources.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace hoplite::task {
namespace {

constexpr std::int64_t kMilli = 1000;

auto Find(std::vector<Resource>& amounts, absl::string_view name) {
  return std::lower_bound(amounts.begin(), amounts.end(), name,
                          [](const Resource& each, absl::string_view key) {
                            return absl::string_view(each.name) < key;
                          });
}

}  // namespace

Resources::Resources(std::initializer_list<Resource> amounts) {
  for (const Resource& each : amounts) Change(each.name, each.milli);
}

Resources Resources::Cpus(std::int64_t cpus) {
  return {{std::string(kCpu), cpus * kMilli}};
}

std::int64_t Resources::milli(absl::string_view name) const {
  for (const Resource& each : amounts_) {
    if (each.name == name) return each.milli;
  }
  return 0;
}

void Resources::Set(absl::string_view name, std::int64_t milli) {
  Change(name, milli - this->milli(name));
}

void Resources::Change(absl::string_view name, std::int64_t by) {
  if (by == 0) return;
  const auto at = Find(amounts_, name);
  if (at == amounts_.end() || at->name != name) {
    amounts_.insert(at, Resource{std::string(name), by});
    return;
  }
  at->milli += by;
  if (at->milli == 0) amounts_.erase(at);
}

void Resources::Add(const Resources& other) {
  for (const Resource& each : other.amounts_) Change(each.name, each.milli);
}

void Resources::Subtract(const Resources& other) {
  for (const Resource& each : other.amounts_) Change(each.name, -each.milli);
}

Resources Resources::Without(absl::string_view name) const {
  Resources rest = *this;
  rest.Set(name, 0);
  return rest;
}

bool Resources::Hold(const Resources& need) const {
  for (const Resource& each : need.amounts_) {
    if (milli(each.name) < each.milli) return false;
  }
  return true;
}

bool Resources::AnyNegative() const {
  for (const Resource& each : amounts_) {
    if (each.milli < 0) return true;
  }
  return false;
}

std::string ToString(const Resources& resources) {
  if (resources.empty()) return "nothing";
  std::string text;
  for (const Resource& each : resources.amounts()) {
    absl::StrAppend(&text, text.empty() ? "" : ", ", each.name, " ",
                    static_cast<double>(each.milli) / kMilli);
  }
  return text;
}

}  // namespace hoplite::task
