#include "ray_integration/worker/testing/fake_store.h"

#include <span>
#include <utility>
#include <variant>

namespace hoplite::task {

void FakeStore::Submit(Event event, std::shared_ptr<CallObserver> observer) {
  if (const auto* get = std::get_if<event::GetRequested>(&event)) {
    gets_.emplace(get->object, std::move(observer));
  }
}

absl::StatusOr<NodeReport> FakeStore::Report(absl::Duration) {
  return absl::UnimplementedError("nobody asks for it");
}

void FakeStore::Shutdown() {
  for (auto& [id, observer] : std::exchange(gets_, {})) {
    observer->OnAnswer({.status = absl::CancelledError("the end")});
  }
}

std::vector<std::shared_ptr<CallObserver>> FakeStore::TakeGets(
    const ObjectId& id) {
  std::vector<std::shared_ptr<CallObserver>> taken;
  const auto [first, last] = gets_.equal_range(id);
  for (auto it = first; it != last; ++it) taken.push_back(it->second);
  gets_.erase(first, last);
  return taken;
}

void FakeStore::Bring(const ObjectId& id, const std::string& bytes) {
  const auto pin = std::make_shared<const std::string>(bytes);
  for (const auto& observer : TakeGets(id)) {
    observer->OnAnswer(
        {.object = std::as_bytes(std::span(pin->data(), pin->size())),
         .pin = pin});
  }
}

void FakeStore::Fail(const ObjectId& id, const absl::Status& why) {
  for (const auto& observer : TakeGets(id)) {
    observer->OnAnswer({.status = why});
  }
}

}  // namespace hoplite::task
