// How large a message is on the wire, near enough for a model of the network.
//
// Thread safety: thread-safe.

#ifndef HOPLITE_SIM_MESSAGE_SIZE_H_
#define HOPLITE_SIM_MESSAGE_SIZE_H_

#include <cstdint>

#include "hoplite/core/message.h"

namespace hoplite::sim {

std::uint64_t WireBytes(const Message& message);

}  // namespace hoplite::sim

#endif  // HOPLITE_SIM_MESSAGE_SIZE_H_
