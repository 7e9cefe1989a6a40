// A small object's bytes, shared and never changed.
//
// The core passes payloads on without reading them; only drivers, the store
// and the codec look inside.
//
// Thread safety: immutable; copies may be used from any thread.

#ifndef HOPLITE_BASE_PAYLOAD_H_
#define HOPLITE_BASE_PAYLOAD_H_

#include <memory>
#include <string>

namespace hoplite {

using Payload = std::shared_ptr<const std::string>;

inline Payload MakePayload(std::string bytes) {
  return std::make_shared<const std::string>(std::move(bytes));
}

}  // namespace hoplite

#endif  // HOPLITE_BASE_PAYLOAD_H_
