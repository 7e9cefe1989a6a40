#include "ray_integration/api/payload_reader.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "ray_integration/api/meta.h"
#include "ray_integration/api/payload_writer.h"

namespace hoplite::task {
namespace {

constexpr char kTooShort[] = "its payload ends too early";

}  // namespace

PayloadReader::PayloadReader(const Stored& stored) : stored_(stored) {
  const auto head_bytes = ReadComposite(stored.meta);
  if (!head_bytes) {
    Fail("it is a value of another type");
  } else if (*head_bytes > stored.bytes.size()) {
    Fail(kTooShort);
  } else {
    head_ = {reinterpret_cast<const char*>(stored.bytes.data()),
             static_cast<std::size_t>(*head_bytes)};
    runs_ = stored.bytes.subspan(*head_bytes);
  }
}

void PayloadReader::Fail(const char* error) {
  if (ok()) error_ = error;
  head_ = {};
  runs_ = {};
}

void PayloadReader::ReadBytes(void* to, std::size_t size_bytes) {
  if (size_bytes > head_.size()) {
    Fail(kTooShort);
    std::memset(to, 0, size_bytes);
    return;
  }
  std::memcpy(to, head_.data(), size_bytes);
  head_.remove_prefix(size_bytes);
}

std::uint64_t PayloadReader::ReadCount() {
  const auto count = TakeVarint(head_);
  if (!count) Fail(kTooShort);
  return count.value_or(0);
}

std::size_t PayloadReader::ReadElementCount() {
  const std::uint64_t count = ReadCount();
  if (count <= head_.size()) return count;
  Fail(kTooShort);
  return 0;
}

std::span<const std::byte> PayloadReader::ReadRun(std::uint64_t rows,
                                                  std::uint64_t columns,
                                                  std::size_t element_bytes) {
  const auto size_bytes = SizeOf(Shape{
      .element_bytes = element_bytes, .rank = 2, .extents = {rows, columns}});
  const bool is_long = size_bytes && *size_bytes >= kLongRunBytes;
  if (!size_bytes || *size_bytes > (is_long ? runs_.size() : head_.size())) {
    Fail(kTooShort);
    return {};
  }
  if (is_long) {
    const auto run = runs_.first(*size_bytes);
    runs_ = runs_.subspan(*size_bytes);
    return run;
  }
  const auto run = std::as_bytes(
      std::span(head_.data(), static_cast<std::size_t>(*size_bytes)));
  head_.remove_prefix(*size_bytes);
  return run;
}

Reference PayloadReader::ReadReference() {
  const std::uint64_t number = ReadCount();
  if (number > stored_.references.size()) {
    Fail("it names a reference that did not come with it");
    return nullptr;
  }
  return number > 0 ? stored_.references[number - 1] : nullptr;
}

ActorReference PayloadReader::ReadActor() {
  const std::uint64_t number = ReadCount();
  if (number > stored_.actors.size()) {
    Fail("it names an actor that did not come with it");
    return nullptr;
  }
  return number > 0 ? stored_.actors[number - 1] : nullptr;
}

PayloadReader::Nesting::Nesting(PayloadReader& reader) : reader_(reader) {
  if (++reader_.depth_ > kNestingMax) {
    reader_.Fail("more than 100 vectors are inside each other");
  }
}

absl::Status PayloadReader::Finish() {
  if (ok() && (!head_.empty() || !runs_.empty())) {
    Fail("its payload is longer than the type needs");
  }
  if (ok()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("a value cannot be read: ", error_));
}

}  // namespace hoplite::task
