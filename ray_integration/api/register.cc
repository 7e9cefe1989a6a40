#include "ray_integration/api/register.h"

#include <cstddef>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"

namespace hoplite::task::internal {
namespace {

// g++ writes   bool Register(const char*) [with auto F = ns::Plus]
// and clang    bool Register(const char *) [F = &ns::Plus]
// with {anonymous} or (anonymous namespace) for what has no name.
std::string Read(absl::string_view pretty) {
  constexpr absl::string_view kBefore = "F = ";
  const std::size_t start = pretty.find(kBefore);
  if (start == absl::string_view::npos || !absl::EndsWith(pretty, "]")) {
    return "";
  }
  pretty.remove_prefix(start + kBefore.size());
  pretty.remove_suffix(1);
  return absl::StrReplaceAll(pretty, {{"{anonymous}::", ""},
                                      {"(anonymous namespace)::", ""},
                                      {"&", ""},
                                      {" ", ""}});
}

}  // namespace

std::string FunctionName(absl::string_view pretty, absl::string_view text) {
  std::string name = Read(pretty);
  if (absl::StartsWith(name, "(") && absl::EndsWith(name, ")")) {
    name = name.substr(1, name.size() - 2);
  }
  const bool is_plain =
      !name.empty() && name.find_first_of("()<>;=") == std::string::npos;
  return is_plain ? name : std::string(absl::StripPrefix(text, "&"));
}

}  // namespace hoplite::task::internal
