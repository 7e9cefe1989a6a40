// A value on its way between processes, and the handles that may be in it.
//
// The templates of this folder turn a C++ value into an Encoded and a Stored
// back into one; the runtime moves their bytes and knows nothing of types. A
// value's payload is nothing but bytes. What they mean is in `meta`, which is
// small and travels beside them (ray_integration/api/meta.h reads it), so that
// a vector of floats is in Hoplite's store exactly as a reduction wants it.
//
// Thread safety: values; as safe as int. The states are immutable.

#ifndef HOPLITE_RAY_INTEGRATION_API_VALUE_H_
#define HOPLITE_RAY_INTEGRATION_API_VALUE_H_

#include <compare>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "hoplite/base/id.h"

namespace hoplite::task {

// An actor, whichever of its incarnations runs.
struct ActorId {
  ObjectId id;

  friend constexpr auto operator<=>(const ActorId&, const ActorId&) = default;
  template <typename H>
  friend H AbslHashValue(H state, const ActorId& actor) {
    return H::combine(std::move(state), actor.id);
  }
};

// A reference as this process holds it. The runtime derives from it, and its
// destructor tells the runtime that the last copy is gone.
class ReferenceState {
 public:
  explicit ReferenceState(const ObjectId& object) : id(object) {}
  ReferenceState(const ReferenceState&) = delete;
  ReferenceState& operator=(const ReferenceState&) = delete;
  virtual ~ReferenceState() = default;

  const ObjectId id;
};
using Reference = std::shared_ptr<const ReferenceState>;

// The same for an actor.
class ActorState {
 public:
  explicit ActorState(const ActorId& actor) : id(actor) {}
  ActorState(const ActorState&) = delete;
  ActorState& operator=(const ActorState&) = delete;
  virtual ~ActorState() = default;

  const ActorId id;
};
using ActorReference = std::shared_ptr<const ActorState>;

// A value as bytes.
struct Encoded {
  using Pieces = absl::InlinedVector<std::span<const std::byte>, 2>;

  // In value.cc, for g++ to see no uninitialised bytes move where the inlined
  // pieces of an empty one do.
  Encoded();
  Encoded(const Encoded& other);
  Encoded(Encoded&& other) noexcept;
  Encoded& operator=(const Encoded& other);
  Encoded& operator=(Encoded&& other) noexcept;
  ~Encoded();

  // Type and shape.
  std::string meta;
  // One after the other they are the payload. They lie in the encoded value's
  // own memory, or in `owner`'s. No piece is empty.
  Pieces pieces;
  // Those inside, none of them null; the payload names them by their index.
  std::vector<Reference> references;
  std::vector<ActorReference> actors;
  // What a task returned owns its value here and may be kept. Of an argument
  // or of what is Put, the pieces are valid only while that call runs,
  // whether there is an owner or not: copy what is to stay.
  std::shared_ptr<const void> owner;

  // The payload's size.
  std::size_t size_bytes() const;
  // Copies the payload to `to`. REQUIRES: size_bytes() bytes of room.
  void CopyTo(std::byte* to) const;
  // The payload, copied to the end of `to`.
  void AppendTo(std::string& to) const;
};

// A value that has come.
struct Stored {
  std::span<const std::byte> bytes;
  std::string meta;
  std::vector<Reference> references;
  std::vector<ActorReference> actors;
  // Keeps `bytes` readable.
  std::shared_ptr<const void> pin;
};

// What a task is given: a value, or a reference (never null) whose value the
// task waits for and gets.
using Argument = std::variant<Encoded, Reference>;

}  // namespace hoplite::task

#endif  // HOPLITE_RAY_INTEGRATION_API_VALUE_H_
