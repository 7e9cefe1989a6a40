// The fields of a struct as a list: for whoever prints, writes, reads or draws
// messages, events and commands, so that none of them names the fields again.
//
//   HOPLITE_FIELDS(Ask, at, object, ask, held, begin, lost)
//
// beside the struct's namespace makes ForEachField work for it. A field that
// is left out does not compile.
//
// Thread safety: pure functions.

#ifndef HOPLITE_CORE_FIELDS_H_
#define HOPLITE_CORE_FIELDS_H_

#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>

#include "absl/strings/string_view.h"

namespace hoplite {

struct FieldNames {
  absl::string_view type;
  absl::string_view fields;  // with ", " in between
};

// The names stand in a structured binding, which has to name every field, in
// order. REQUIRES: an aggregate with at least one field, in whose namespace
// this stands.
#define HOPLITE_FIELDS(Type, ...)                           \
  inline ::hoplite::FieldNames NamesOfFields(const Type*) { \
    return {#Type, #__VA_ARGS__};                           \
  }                                                         \
  template <typename T>                                     \
  requires std::is_same_v<std::remove_const_t<T>, Type>     \
  auto TieFields(T& value) {                                \
    auto& [__VA_ARGS__] = value;                            \
    return std::tie(__VA_ARGS__);                           \
  }

// The same for a struct without any.
#define HOPLITE_NO_FIELDS(Type)                             \
  inline ::hoplite::FieldNames NamesOfFields(const Type*) { \
    return {#Type, ""};                                     \
  }                                                         \
  template <typename T>                                     \
  requires std::is_same_v<std::remove_const_t<T>, Type>     \
  auto TieFields(T&) { return std::tuple<>(); }

template <typename T>
concept HasFields = requires(T& value) {
  TieFields(value);
};

template <HasFields T>
FieldNames NamesOf(const T& value) {
  return NamesOfFields(&value);
}

// Calls visit(field) for each, in order.
template <HasFields T, typename Visit>
void ForEachField(T& value, Visit&& visit) {
  std::apply([&](auto&... fields) { (visit(fields), ...); }, TieFields(value));
}

// Calls visit(name, field) for each, in order.
template <HasFields T, typename Visit>
void ForEachNamedField(T& value, Visit&& visit) {
  absl::string_view names = NamesOf(value).fields;
  ForEachField(value, [&](auto& field) {
    const std::size_t comma = names.find(',');
    visit(names.substr(0, comma), field);
    if (comma != absl::string_view::npos) names.remove_prefix(comma + 2);
  });
}

// Makes the variant hold a new value of its type number `index`, from 0 on.
// REQUIRES: there is one.
template <typename... Ts>
void EmplaceType(std::variant<Ts...>& variant, std::size_t index) {
  [&]<std::size_t... kIndices>(std::index_sequence<kIndices...>) {
    ((kIndices == index ? void(variant.template emplace<kIndices>()) : void()),
     ...);
  }
  (std::index_sequence_for<Ts...>());
}

// How many values an enumeration has, from 0 on.
template <typename Enum>
inline constexpr std::size_t kValueCount = 0;

}  // namespace hoplite

#endif  // HOPLITE_CORE_FIELDS_H_
