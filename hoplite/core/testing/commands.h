// Finds in a machine's commands those that a test is about.
//
// Thread safety: pure functions.

#ifndef HOPLITE_CORE_TESTING_COMMANDS_H_
#define HOPLITE_CORE_TESTING_COMMANDS_H_

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "hoplite/core/command.h"

namespace hoplite::testing {

// The commands of kind C, in order.
template <typename C>
std::vector<C> All(const Commands& commands) {
  std::vector<C> found;
  for (const Command& command : commands) {
    if (const C* one = std::get_if<C>(&command)) found.push_back(*one);
  }
  return found;
}

// The only command of kind C; nullopt where there is none, or more.
template <typename C>
std::optional<C> Only(const Commands& commands) {
  std::vector<C> found = All<C>(commands);
  if (found.size() != 1) return std::nullopt;
  return found.front();
}

// The messages of kind M, in order; of those to one node, where given.
template <typename M>
std::vector<M> Sent(const Commands& commands,
                    std::optional<NodeRef> to = std::nullopt) {
  std::vector<M> found;
  for (const command::Send& send : All<command::Send>(commands)) {
    if (to.has_value() && send.to != *to) continue;
    if (const M* one = std::get_if<M>(&send.message)) found.push_back(*one);
  }
  return found;
}

template <typename M>
std::optional<M> OnlySent(const Commands& commands,
                          std::optional<NodeRef> to = std::nullopt) {
  std::vector<M> found = Sent<M>(commands, to);
  if (found.size() != 1) return std::nullopt;
  return found.front();
}

// Everything, in words: to compare whole, and to print.
inline std::vector<std::string> Texts(const Commands& commands) {
  std::vector<std::string> texts;
  for (const Command& command : commands) {
    texts.push_back(DebugString(command));
  }
  return texts;
}

}  // namespace hoplite::testing

#endif  // HOPLITE_CORE_TESTING_COMMANDS_H_
