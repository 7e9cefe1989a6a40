// Messages with random content, for tests of what carries them.
//
// Thread safety: thread-safe, but for the random source.

#ifndef HOPLITE_WIRE_RANDOM_MESSAGE_H_
#define HOPLITE_WIRE_RANDOM_MESSAGE_H_

#include <cstddef>
#include <variant>

#include "hoplite/base/random.h"
#include "hoplite/core/message.h"

namespace hoplite {

inline constexpr std::size_t kMessageKinds = std::variant_size_v<Message>;

// The message with this index in the variant, every field of it drawn, within
// what the codec takes. REQUIRES: kind < kMessageKinds.
Message RandomMessage(std::size_t kind, Random& random);

}  // namespace hoplite

#endif  // HOPLITE_WIRE_RANDOM_MESSAGE_H_
