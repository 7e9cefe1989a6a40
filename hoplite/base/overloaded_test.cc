#include "hoplite/base/overloaded.h"

#include <gtest/gtest.h>

#include <string>
#include <type_traits>
#include <variant>

namespace hoplite {
namespace {

using Value = std::variant<int, std::string>;

TEST(OverloadedTest, EachAlternativeGoesToItsOwnLambda) {
  const auto describe = Overloaded{
      [](int number) { return "number " + std::to_string(number); },
      [](const std::string& text) { return "text " + text; },
  };
  EXPECT_EQ(std::visit(describe, Value(3)), "number 3");
  EXPECT_EQ(std::visit(describe, Value("three")), "text three");
}

TEST(OverloadedTest, AForgottenAlternativeIsNotAccepted) {
  const auto forgetful = Overloaded{[](int) {}};
  static_assert(std::is_invocable_v<decltype(forgetful), int>);
  static_assert(!std::is_invocable_v<decltype(forgetful), std::string>);
}

}  // namespace
}  // namespace hoplite
