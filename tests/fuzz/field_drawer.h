// Draws the fields of messages and events from a fuzzer's bytes.
//
// Values are few and small, so that they meet; and some are as large as can be.
//
// Thread safety: none; one thread at a time.

#ifndef HOPLITE_TESTS_FUZZ_FIELD_DRAWER_H_
#define HOPLITE_TESTS_FUZZ_FIELD_DRAWER_H_

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "absl/time/time.h"
#include "hoplite/base/id.h"
#include "hoplite/base/id_prefix.h"
#include "hoplite/base/payload.h"
#include "hoplite/core/directory/shard_map.h"
#include "hoplite/core/fields.h"
#include "hoplite/core/message_fields.h"
#include "hoplite/core/testing/values.h"
#include "tests/fuzz/fuzz_input.h"

namespace hoplite::fuzz {

class FieldDrawer {
 public:
  static constexpr std::uint32_t kObjects = 6;
  static constexpr std::uint32_t kNodes = 5;
  static constexpr std::uint64_t kLarge = 100'000;  // no inline object

  FieldDrawer(FuzzInput& input, absl::Time now) : input_(input), now_(now) {}

  template <std::unsigned_integral T>
  void operator()(T& value) {
    static constexpr std::uint64_t kNumbers[] = {
        0,         1,       2,          3,
        4,         5,       100,        2048,
        4096,      65'536,  65'537,     kLarge,
        1 << 20,   1 << 30, UINT32_MAX, (std::uint64_t{1} << 32) + 1,
        UINT64_MAX};
    value = static_cast<T>(kNumbers[input_.Below(std::size(kNumbers))]);
  }
  void operator()(bool& value) { value = input_.Below(2) == 1; }
  void operator()(double& value) {
    static constexpr double kNumbers[] = {
        0,
        1,
        -1,
        1e9,
        1e300,
        std::numeric_limits<double>::infinity(),
        std::numeric_limits<double>::quiet_NaN()};
    value = kNumbers[input_.Below(std::size(kNumbers))];
  }
  template <typename T>
  requires std::is_enum_v<T>
  void operator()(T& value) {
    value = static_cast<T>(input_.Below(kValueCount<T>));
  }
  template <typename Tag, typename Rep>
  void operator()(StrongInt<Tag, Rep>& value) {
    Rep number = 0;
    (*this)(number);
    value = StrongInt<Tag, Rep>(number);
  }
  void operator()(ShardId& shard) { shard = testing::Id(Object()).shard(); }
  void operator()(ObjectId& id) { id = testing::Id(Object()); }
  void operator()(IdPrefix& prefix) {
    prefix = IdPrefix::Of(testing::Id(Object()));
  }
  void operator()(NodeRef& ref) {
    const std::uint8_t kind = input_.Byte();
    ref = testing::Ref(kind % kNodes + 1);
    if (kind < 200) return;
    if (kind < 210) {
      ref = NodeRef();
    } else {
      (*this)(ref.incarnation);
    }
  }
  void operator()(absl::Duration& value) {
    value = absl::Milliseconds(1) * static_cast<int>(input_.Byte());
  }
  void operator()(absl::Time& value) {
    absl::Duration later;
    (*this)(later);
    value = later == absl::ZeroDuration() ? absl::InfiniteFuture()
                                          : now_ + 100 * later;
  }
  void operator()(std::string& text) {
    text = input_.Below(2) == 0 ? "" : "host:1";
  }
  void operator()(Payload& payload) {
    static constexpr std::size_t kSizes[] = {0, 1, 4, 100, 65'536};
    const std::size_t kind = input_.Below(2 * std::size(kSizes));
    payload = kind < std::size(kSizes)
                  ? MakePayload(std::string(kSizes[kind], 'x'))
                  : nullptr;
  }
  template <typename T>
  void operator()(std::vector<T>& values) {
    const std::size_t count = input_.Below(5);
    values.clear();
    for (std::size_t i = 0; i < count; ++i) (*this)(values.emplace_back());
  }
  void operator()(ShardMap& map) {
    std::vector<ShardAssignment> assignments;
    (*this)(assignments);
    for (const ShardAssignment& assignment : assignments) map.Apply(assignment);
  }
  template <typename... Ts>
  void operator()(std::variant<Ts...>& variant) {
    EmplaceType(variant, input_.Below(sizeof...(Ts)));
    std::visit(*this, variant);
  }
  template <HasFields T>
  void operator()(T& value) {
    if constexpr (requires { value.agent_address; }) {
      // Nothing in the core reads it, so it is worth no byte of the input.
      ForEachField(value, [&](auto& field) {
        if (static_cast<void*>(&field) != &value.agent_address) (*this)(field);
      });
      value.agent_address = value.control_address;
    } else {
      ForEachField(value, *this);
    }
    // A shard is mostly the object's own, else nobody would read on.
    if constexpr (requires { value.at.shard; }) {
      if (input_.Below(8) == 0) return;
      if constexpr (requires { value.object; }) {
        value.at.shard = value.object.shard();
      } else if constexpr (requires { value.target; }) {
        value.at.shard = value.target.shard();
      }
    }
  }

 private:
  std::uint32_t Object() {
    return static_cast<std::uint32_t>(input_.Below(kObjects));
  }

  FuzzInput& input_;
  const absl::Time now_;
};

}  // namespace hoplite::fuzz

#endif  // HOPLITE_TESTS_FUZZ_FIELD_DRAWER_H_
