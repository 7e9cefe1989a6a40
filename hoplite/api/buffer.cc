#include "hoplite/api/buffer.h"

#include <memory>
#include <utility>

#include "hoplite/api/put_call.h"

namespace hoplite {

WritableBuffer::WritableBuffer(std::shared_ptr<PutCall> call)
    : call_(std::move(call)) {}
WritableBuffer::WritableBuffer(WritableBuffer&&) noexcept = default;
WritableBuffer& WritableBuffer::operator=(WritableBuffer&& other) noexcept {
  if (call_ != nullptr) call_->Abandon();
  call_ = std::move(other.call_);
  return *this;
}
WritableBuffer::~WritableBuffer() {
  if (call_ != nullptr) call_->Abandon();
}

std::span<std::byte> WritableBuffer::data() const { return call_->bytes(); }
void WritableBuffer::Advance(std::uint64_t to) { call_->Advance(to); }
absl::Status WritableBuffer::Seal() { return SealAsync().Get(); }
Future<void> WritableBuffer::SealAsync() {
  const std::shared_ptr<PutCall> call = std::move(call_);
  call->Seal();
  return call->done();
}

}  // namespace hoplite
