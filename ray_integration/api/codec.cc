#include "ray_integration/api/codec.h"

#include <memory>
#include <utility>

#include "ray_integration/api/meta.h"

namespace hoplite::task {

void AddOwner(Encoded& encoded, std::shared_ptr<const void> value) {
  if (encoded.owner == nullptr) {
    encoded.owner = std::move(value);
  } else if (encoded.pieces.size() > 1) {
    // Behind the head are long runs, which are the value's own memory.
    encoded.owner = std::make_shared<
        std::pair<std::shared_ptr<const void>, std::shared_ptr<const void>>>(
        std::move(encoded.owner), std::move(value));
  }
}

Encoded EncodeNothing() {
  Encoded encoded;
  encoded.meta = MetaOfNothing();
  return encoded;
}

}  // namespace hoplite::task
