#include "ray_integration/api/registry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "absl/status/statusor.h"
#include "ray_integration/api/value.h"

namespace hoplite::task {
namespace {

using ::testing::ElementsAre;

int One() { return 1; }
int Two() { return 2; }

struct Cat {
  virtual ~Cat() = default;
  virtual int Speak() { return 1; }
};
struct Dog {
  virtual ~Dog() = default;
  virtual int Speak() { return 2; }
};

RegisteredFunction Nothing() {
  return {.invoke = [](Instance&, std::vector<Stored>&) {
    return absl::StatusOr<Encoded>(Encoded());
  }};
}

TEST(RegistryTest, AFunctionIsFoundByNameAndByAddress) {
  Registry registry;
  registry.Add("One", FunctionKey::Of(&One), Nothing());
  EXPECT_NE(registry.Find("One"), nullptr);
  EXPECT_EQ(registry.Find("Two"), nullptr);
  EXPECT_EQ(registry.NameOf(FunctionKey::Of(&One)), "One");
  EXPECT_EQ(registry.NameOf(FunctionKey::Of(&Two)), "");
}

TEST(RegistryTest, VirtualMethodsInTheSamePlaceOfTwoClassesDiffer) {
  Registry registry;
  registry.Add("Cat::Speak", FunctionKey::Of(&Cat::Speak), Nothing());
  registry.Add("Dog::Speak", FunctionKey::Of(&Dog::Speak), Nothing());
  EXPECT_EQ(registry.NameOf(FunctionKey::Of(&Cat::Speak)), "Cat::Speak");
  EXPECT_EQ(registry.NameOf(FunctionKey::Of(&Dog::Speak)), "Dog::Speak");
}

TEST(RegistryTest, TheSameFunctionMayComeAgain) {
  Registry registry;
  registry.Add("One", FunctionKey::Of(&One), Nothing());
  registry.Add("One", FunctionKey::Of(&One), Nothing());
  registry.Add("A", FunctionKey::Of(&Two), Nothing());
  EXPECT_THAT(registry.Names(), ElementsAre("A", "One"));
}

TEST(RegistryDeathTest, TwoFunctionsOfOneNameStopTheProgram) {
  Registry registry;
  registry.Add("One", FunctionKey::Of(&One), Nothing());
  EXPECT_DEATH(registry.Add("One", FunctionKey::Of(&Two), Nothing()),
               "two different functions .* registered as \"One\"; rename");
}

}  // namespace
}  // namespace hoplite::task
