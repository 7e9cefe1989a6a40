#include "ray_integration/api/payload_writer.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "ray_integration/api/meta.h"

namespace hoplite::task {

void PayloadWriter::AddBytes(const void* data, std::size_t size_bytes) {
  head_->append(static_cast<const char*>(data), size_bytes);
}

void PayloadWriter::AddCount(std::uint64_t count) {
  AppendVarint(*head_, count);
}

void PayloadWriter::AddRun(std::span<const std::byte> run) {
  if (run.size() < kLongRunBytes) {
    AddBytes(run.data(), run.size());
  } else {
    encoded_.pieces.push_back(run);
  }
}

void PayloadWriter::AddReference(const Reference& reference) {
  if (reference != nullptr) encoded_.references.push_back(reference);
  AddCount(reference != nullptr ? encoded_.references.size() : 0);
}

void PayloadWriter::AddActor(const ActorReference& actor) {
  if (actor != nullptr) encoded_.actors.push_back(actor);
  AddCount(actor != nullptr ? encoded_.actors.size() : 0);
}

Encoded PayloadWriter::Finish() && {
  encoded_.meta = MetaOfComposite(head_->size());
  if (!head_->empty()) {
    encoded_.pieces.insert(encoded_.pieces.begin(),
                           std::as_bytes(std::span(*head_)));
  }
  encoded_.owner = std::move(head_);
  return std::move(encoded_);
}

}  // namespace hoplite::task
