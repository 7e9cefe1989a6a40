#include "ray_integration/api/value.h"

#include <cstddef>
#include <cstring>
#include <string>

namespace hoplite::task {

Encoded::Encoded() = default;
Encoded::Encoded(const Encoded& other) = default;
Encoded::Encoded(Encoded&& other) noexcept = default;
Encoded& Encoded::operator=(const Encoded& other) = default;
Encoded& Encoded::operator=(Encoded&& other) noexcept = default;
Encoded::~Encoded() = default;

std::size_t Encoded::size_bytes() const {
  std::size_t size_bytes = 0;
  for (const auto& piece : pieces) size_bytes += piece.size();
  return size_bytes;
}

void Encoded::CopyTo(std::byte* to) const {
  for (const auto& piece : pieces) {
    std::memcpy(to, piece.data(), piece.size());
    to += piece.size();
  }
}

void Encoded::AppendTo(std::string& to) const {
  for (const auto& piece : pieces) {
    to.append(reinterpret_cast<const char*>(piece.data()), piece.size());
  }
}

}  // namespace hoplite::task
