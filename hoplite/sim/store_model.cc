#include "hoplite/sim/store_model.h"

#include <algorithm>

#include "hoplite/base/check.h"

namespace hoplite::sim {

BufferModel& StoreModel::at(BufferId buffer) {
  const auto found = buffers_.find(buffer);
  HOPLITE_CHECK(found != buffers_.end());
  return found->second;
}

bool StoreModel::Create(BufferId buffer, std::uint64_t size) {
  HOPLITE_CHECK(!buffers_.contains(buffer));
  if (size > capacity_ - used_) return false;
  used_ += size;
  BufferModel model;
  model.size = size;
  model.last_use = ++uses_;
  buffers_.emplace(buffer, std::move(model));
  return true;
}

const BufferModel* StoreModel::Find(BufferId buffer) const {
  const auto found = buffers_.find(buffer);
  return found == buffers_.end() ? nullptr : &found->second;
}

void StoreModel::Append(BufferId buffer, const Segments& content) {
  BufferModel& model = at(buffer);
  HOPLITE_CHECK(content.end() <= model.size);
  model.content.Append(content);
}

void StoreModel::Skip(BufferId buffer, std::uint64_t begin) {
  BufferModel& model = at(buffer);
  HOPLITE_CHECK(begin <= model.size);
  if (begin > model.watermark()) model.content.Append(begin, ContentId());
}

void StoreModel::Hold(BufferId buffer, Holder holder) {
  BufferModel& model = at(buffer);
  HOPLITE_CHECK(holder != Holder::kMachine);
  ++(holder == Holder::kClient ? model.clients : model.orders);
}

bool StoreModel::LetGo(BufferId buffer, Holder holder) {
  BufferModel& model = at(buffer);
  if (holder == Holder::kMachine) {
    HOPLITE_CHECK(model.machine_holds);
    model.machine_holds = false;
  } else {
    std::uint32_t& count =
        holder == Holder::kClient ? model.clients : model.orders;
    HOPLITE_CHECK(count > 0);
    --count;
  }
  if (model.machine_holds || model.clients > 0 || model.orders > 0) {
    return false;
  }
  used_ -= model.size;
  buffers_.erase(buffer);
  return true;
}

void StoreModel::MarkFailed(BufferId buffer) { at(buffer).failed = true; }

void StoreModel::Touch(BufferId buffer) { at(buffer).last_use = ++uses_; }

std::vector<BufferId> StoreModel::Evictable() const {
  std::vector<BufferId> found;
  for (const auto& [buffer, model] : buffers_) {
    if (model.machine_holds && model.clients == 0) found.push_back(buffer);
  }
  std::sort(found.begin(), found.end(), [this](BufferId a, BufferId b) {
    return buffers_.at(a).last_use < buffers_.at(b).last_use;
  });
  return found;
}

}  // namespace hoplite::sim
