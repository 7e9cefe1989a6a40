#include "ray_integration/worker/fetcher.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace hoplite::task {
namespace {

using message::ObjectPhase;

// So often an object may be lost while one waits for it.
constexpr int kTriesMax = 10;

std::span<const std::byte> BytesOf(const std::string& text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

}  // namespace

void Fetcher::AddHandles(const ValueInfo& value, Stored& stored) {
  stored.meta = value.meta;
  for (const ReferenceInfo& inner : value.references) {
    objects_.Know(inner, false);
    stored.references.push_back(handles_.HandleOf(inner.id));
  }
  for (const ReferenceInfo& inner : value.actors) {
    objects_.Know(inner, true);
    stored.actors.push_back(handles_.ActorHandleOf(inner.id));
  }
}

Stored Fetcher::Open(const ValuePtr& value) {
  Stored stored{.bytes = BytesOf(value->bytes), .pin = value};
  AddHandles(*value, stored);
  return stored;
}

void Fetcher::Fetch(const ObjectId& id, bool begun, Done done) {
  ObjectEntry* entry = objects_.Find(id);
  if (entry->suspect) tasks_.Recover(id);
  Future<Buffer> early;
  if (!entry->settled() && (begun || entry->in_reduction)) {
    early = client_.GetAsync(id);
  }
  objects_.WhenSettled(id, [this, id, early, done = std::move(done)] {
    OnSettled(id, 0, done);
  });
}

void Fetcher::OnSettled(const ObjectId& id, int tries, const Done& done) {
  ObjectEntry* entry = objects_.Find(id);
  if (entry == nullptr) {
    done(
        absl::NotFoundError(absl::StrCat("object ", id.ToHex(), " was freed")));
  } else if (entry->phase == ObjectPhase::kFailed) {
    done(entry->error);
  } else if (!entry->value->in_store) {
    done(Open(entry->value));
  } else {
    const Future<Buffer> got = client_.GetAsync(id);
    if (got.Ready()) {
      OnBuffer(id, tries, done, got.Get());
      return;
    }
    got.Then([this, id, tries, done](const absl::StatusOr<Buffer>& buffer) {
      // Not here: this thread may have the lock, or be the client's.
      surroundings_.Later([this, id, tries, done, buffer] {
        OnBuffer(id, tries, done, buffer);
        surroundings_.Changed();
      });
    });
  }
}

void Fetcher::OnBuffer(const ObjectId& id, int tries, const Done& done,
                       const absl::StatusOr<Buffer>& buffer) {
  ObjectEntry* entry = objects_.Find(id);
  if (entry == nullptr || entry->value == nullptr) {
    // Freed or failed meanwhile.
    if (entry != nullptr && !entry->settled()) {
      objects_.WhenSettled(
          id, [this, id, tries, done] { OnSettled(id, tries + 1, done); });
      return;
    }
    done(entry == nullptr ? absl::NotFoundError("the object was freed")
                          : entry->error);
    return;
  }
  if (buffer.ok()) {
    Stored stored{.bytes = buffer->bytes(),
                  .pin = std::make_shared<Buffer>(*buffer)};
    AddHandles(*entry->value, stored);
    done(std::move(stored));
    return;
  }
  const absl::Status& why = buffer.status();
  if ((!absl::IsDataLoss(why) && !absl::IsNotFound(why)) ||
      tries >= kTriesMax) {
    done(why);
    return;
  }
  if (entry->owned) {
    tasks_.Remake(id);
  } else if (entry->settled()) {
    entry->phase = ObjectPhase::kPending;
    surroundings_.Send({OwnerOf(id), entry->reference.owner_address},
                       message::Lost{.id = id});
  }
  objects_.WhenSettled(
      id, [this, id, tries, done] { OnSettled(id, tries + 1, done); });
}

}  // namespace hoplite::task
