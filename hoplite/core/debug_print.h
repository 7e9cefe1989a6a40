// Prints the fields of messages, events and commands for traces.
//
// Thread safety: thread-safe.

#ifndef HOPLITE_CORE_DEBUG_PRINT_H_
#define HOPLITE_CORE_DEBUG_PRINT_H_

#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "hoplite/base/id.h"
#include "hoplite/base/id_prefix.h"
#include "hoplite/base/payload.h"
#include "hoplite/base/reduction.h"
#include "hoplite/core/directory/shard_map.h"
#include "hoplite/core/fields.h"

namespace hoplite::debug_print {

template <typename Tag, typename Rep>
std::string Text(StrongInt<Tag, Rep> value) {
  return absl::StrCat(value.value());
}
inline std::string Text(const ObjectId& id) { return id.ToHex().substr(0, 8); }
inline std::string Text(const IdPrefix& prefix) { return prefix.ToHex(); }
inline std::string Text(const Generation& value) { return ToString(value); }
inline std::string Text(const NodeRef& ref) {
  return absl::StrCat(ref.node.value(), "#", ref.incarnation.value());
}
inline std::string Text(const ShardRef& at) {
  return absl::StrCat(at.shard.value(), "@", at.epoch.value());
}
inline std::string Text(const ShardAssignment& value) {
  return absl::StrCat(Text(value.at), ">", Text(value.host));
}
inline std::string Text(const Member& member) { return Text(member.ref); }
inline std::string Text(const ShardMap&) { return "map"; }
inline std::string Text(const Payload& payload) {
  return payload == nullptr ? "none" : absl::StrCat(payload->size(), "B");
}
inline std::string Text(const std::string& text) { return text; }
inline std::string Text(absl::StatusCode code) {
  return absl::StatusCodeToString(code);
}
inline std::string Text(ReduceOp op) { return std::string(ToString(op)); }
inline std::string Text(DataType type) { return std::string(ToString(type)); }
inline std::string Text(absl::Time time) {
  return time == absl::InfiniteFuture() ? "never"
                                        : absl::StrCat(absl::ToUnixNanos(time));
}
inline std::string Text(absl::Duration duration) {
  return absl::FormatDuration(duration);
}
template <typename T>
requires std::is_arithmetic_v<T> std::string Text(T value) {
  return absl::StrCat(value);
}
template <typename T>
requires std::is_enum_v<T> std::string Text(T value) {
  return absl::StrCat(static_cast<int>(value));
}
template <typename T>
requires requires(const T& value) { DebugString(value); }
std::string Text(const T& value) {
  return absl::StrCat("{", DebugString(value), "}");
}
// The structs that stand in lists: by what identifies them.
template <typename T>
requires requires(const T& entry) {
  entry.object;
  entry.at;
}
std::string Text(const T& entry) { return Text(entry.object); }
template <typename T>
requires requires(const T& entry) {
  entry.object;
  entry.holder;
}
std::string Text(const T& entry) {
  return absl::StrCat(Text(entry.object), "=", Text(entry.state));
}
template <typename T>
requires requires(const T& entry) {
  entry.object;
  entry.server;
}
std::string Text(const T& entry) {
  return absl::StrCat(Text(entry.object), "=", Text(entry.state), ":",
                      Text(entry.generation));
}
template <typename T>
requires requires(const T& input) {
  input.position;
  input.member;
}
std::string Text(const T& input) {
  return absl::StrCat(input.position, "<", Text(input.member));
}
template <typename T>
requires requires(const T& key) {
  key.object;
  key.is_output();
}
std::string Text(const T& key) {
  return key.is_output() ? absl::StrCat(Text(key.object), "/", key.position)
                         : Text(key.object);
}
template <typename T>
std::string Text(const std::vector<T>& values) {
  std::string out = "[";
  for (const T& value : values) absl::StrAppend(&out, Text(value), " ");
  out += "]";
  return out;
}

template <typename T>
requires requires(const T& view) { view.cluster; }
std::string Text(const T& view);
// A struct's name and fields.
template <HasFields T>
std::string StructText(const T& value) {
  std::string out(NamesOf(value).type);
  ForEachNamedField(value, [&](absl::string_view name, const auto& field) {
    absl::StrAppend(&out, " ", name, "=", Text(field));
  });
  return out;
}
template <typename T>
requires requires(const T& view) { view.cluster; }
std::string Text(const T& view) {
  return absl::StrCat("{", StructText(view), "}");
}
// Those of what the variant holds.
template <typename Variant>
std::string NameAndFields(const Variant& variant) {
  return std::visit([](const auto& value) { return StructText(value); },
                    variant);
}

}  // namespace hoplite::debug_print

#endif  // HOPLITE_CORE_DEBUG_PRINT_H_
