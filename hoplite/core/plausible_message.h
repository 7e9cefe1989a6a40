// What a message has to say to mean anything at all. Nobody who is in his
// right mind says otherwise, so whoever does is not heard, and no machine has
// to be ready for it.
//
// Not responsible for: what may be late, repeated or wrong (each machine, by
// epochs, generations and ask numbers); limits of fields (hoplite/wire).
// Thread safety: pure functions.

#ifndef HOPLITE_CORE_PLAUSIBLE_MESSAGE_H_
#define HOPLITE_CORE_PLAUSIBLE_MESSAGE_H_

#include "hoplite/core/message.h"

namespace hoplite {

// False where the message contradicts itself: an object of another shard than
// the one named, a payload of another size, a server or a generation that is
// none where there has to be one, a refusal with kOk, a fold that there is not.
bool IsPlausible(const Message& message);

}  // namespace hoplite

#endif  // HOPLITE_CORE_PLAUSIBLE_MESSAGE_H_
