#include "ray_integration/wire/message.h"

#include <cstddef>

#include "absl/strings/str_cat.h"
#include "ray_integration/wire/pack.h"

namespace hoplite::task {
namespace {

template <std::size_t kIndex = 0>
bool Emplace(std::size_t number, Message& message) {
  if constexpr (kIndex < std::variant_size_v<Message>) {
    if (number != kIndex) return Emplace<kIndex + 1>(number, message);
    message.emplace<kIndex>();
    return true;
  } else {
    return false;
  }
}

}  // namespace

std::string ToFrame(const Message& message) {
  std::string frame;
  Pack(static_cast<std::uint8_t>(message.index()), frame);
  std::visit([&](const auto& one) { Pack(one, frame); }, message);
  return frame;
}

absl::StatusOr<Message> FromFrame(absl::string_view frame) {
  Message message;
  if (frame.empty() || !Emplace(static_cast<std::uint8_t>(frame[0]), message)) {
    return absl::InvalidArgumentError("a message of no known kind");
  }
  Unpacker unpacker(frame.substr(1));
  std::visit([&](auto& one) { unpacker.Take(one); }, message);
  if (!unpacker.AtEnd()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a message of kind ", message.index(), " of ", frame.size(),
        " bytes does not have the fields that it should"));
  }
  return message;
}

}  // namespace hoplite::task
