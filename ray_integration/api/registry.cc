#include "ray_integration/api/registry.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"

namespace hoplite::task {

Registry& Registry::Global() {
  // Never destroyed: other threads may still look something up at exit.
  static Registry& global = *std::make_unique<Registry>().release();
  return global;
}

void Registry::Add(absl::string_view name, const FunctionKey& key,
                   RegisteredFunction function) {
  auto& entry = functions_[name];
  if (entry != nullptr && NameOf(key) != name) {
    std::fprintf(stderr,
                 "HOPLITE_REMOTE: two different functions of this program are "
                 "registered as \"%s\"; rename one of them, or move it into a "
                 "namespace that has a name\n",
                 std::string(name).c_str());
    std::fflush(stderr);
    std::abort();
  }
  if (entry == nullptr) {
    entry = std::make_unique<RegisteredFunction>(std::move(function));
  }
  names_.try_emplace(key, name);
}

const RegisteredFunction* Registry::Find(absl::string_view name) const {
  auto found = functions_.find(name);
  return found == functions_.end() ? nullptr : found->second.get();
}

absl::string_view Registry::NameOf(const FunctionKey& key) const {
  auto found = names_.find(key);
  return found == names_.end() ? absl::string_view() : found->second;
}

std::vector<std::string> Registry::Names() const {
  std::vector<std::string> names;
  for (const auto& [name, function] : functions_) names.push_back(name);
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace hoplite::task
