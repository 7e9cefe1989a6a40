#include "ray_integration/link/event_set.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <utility>

#include "absl/strings/str_cat.h"
#include "hoplite/base/check.h"

namespace hoplite::task {
namespace {

// Null: for ever. Rounds up, so that nobody wakes before the time has come.
const timespec* ToTimespec(absl::Duration timeout, timespec& space) {
  if (timeout == absl::InfiniteDuration()) return nullptr;
  // The kernel takes no more than its own clock can count to.
  const absl::Duration clamped =
      std::clamp(absl::Ceil(timeout, absl::Nanoseconds(1)),
                 absl::ZeroDuration(), absl::Hours(24 * 365));
  space = absl::ToTimespec(clamped);
  return &space;
}

void Signal(const FileDescriptor& event) {
  const std::uint64_t one = 1;
  // Full is signalled too.
  HOPLITE_CHECK(write(event.get(), &one, sizeof(one)) == sizeof(one) ||
                errno == EAGAIN);
}

void Clear(const FileDescriptor& event) {
  std::uint64_t count = 0;
  HOPLITE_CHECK(read(event.get(), &count, sizeof(count)) == sizeof(count) ||
                errno == EAGAIN);
}

absl::Status Exhausted() {
  return absl::ResourceExhaustedError(
      absl::StrCat("cannot watch another descriptor: ", std::strerror(errno)));
}

}  // namespace

absl::StatusOr<std::unique_ptr<EventSet>> EventSet::Create() {
  FileDescriptor epoll(epoll_create1(EPOLL_CLOEXEC));
  FileDescriptor poke(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  FileDescriptor awaiting(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!epoll || !poke || !awaiting) return Exhausted();
  std::unique_ptr<EventSet> events(
      new EventSet(std::move(epoll), std::move(poke), std::move(awaiting)));
  const absl::Status watched = events->Watch(events->poke_.get(), 0, EPOLLIN);
  if (!watched.ok()) return watched;
  return events;
}

EventSet::EventSet(FileDescriptor epoll, FileDescriptor poke,
                   FileDescriptor awaiting)
    : epoll_(std::move(epoll)),
      poke_(std::move(poke)),
      poke_awaiting_(std::move(awaiting)) {}

bool EventSet::Add(Number number, std::shared_ptr<Watched> watched) {
  MutexLock lock(mutex_);
  if (taken_) return false;
  watched_.emplace(number, std::move(watched));
  return true;
}

void EventSet::Forget(Number number) {
  std::shared_ptr<Watched> last;  // goes without the lock
  MutexLock lock(mutex_);
  const auto found = watched_.find(number);
  if (found == watched_.end()) return;
  last = std::move(found->second);
  watched_.erase(found);
}

std::shared_ptr<Watched> EventSet::Find(Number number) const {
  MutexLock lock(mutex_);
  const auto found = watched_.find(number);
  return found == watched_.end() ? nullptr : found->second;
}

std::vector<std::shared_ptr<Watched>> EventSet::TakeAll() {
  std::vector<std::shared_ptr<Watched>> all;
  MutexLock lock(mutex_);
  taken_ = true;
  all.reserve(watched_.size());
  for (auto& [number, watched] : watched_) all.push_back(std::move(watched));
  watched_.clear();
  return all;
}

absl::Status EventSet::Watch(int descriptor, Number number,
                             std::uint32_t events) {
  epoll_event event{.events = events, .data = {.u64 = number}};
  MutexLock lock(mutex_);  // Find takes it too, and sees what was before
  if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, descriptor, &event) == 0) {
    return absl::OkStatus();
  }
  return Exhausted();
}

void EventSet::Change(int descriptor, Number number, std::uint32_t events) {
  epoll_event event{.events = events, .data = {.u64 = number}};
  HOPLITE_CHECK(epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, descriptor, &event) ==
                0);
}

void EventSet::Unwatch(int descriptor) {
  // A fork keeps the socket open, and with it the kernel's interest.
  epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, descriptor, nullptr);
}

std::span<const epoll_event> EventSet::Wait(absl::Duration timeout,
                                            std::span<epoll_event> ready) {
  timespec space{};
  const int count =
      epoll_pwait2(epoll_.get(), ready.data(), static_cast<int>(ready.size()),
                   ToTimespec(timeout, space), nullptr);
  HOPLITE_CHECK(count >= 0 || errno == EINTR);
  return ready.first(static_cast<std::size_t>(std::max(count, 0)));
}

void EventSet::Poke() const { Signal(poke_); }

void EventSet::Unpoke() const { Clear(poke_); }

void EventSet::AwaitNews(absl::Duration timeout) const {
  std::array<pollfd, 2> watched = {
      pollfd{.fd = epoll_.get(), .events = POLLIN},
      pollfd{.fd = poke_awaiting_.get(), .events = POLLIN}};
  timespec space{};
  const int count = ppoll(watched.data(), watched.size(),
                          ToTimespec(timeout, space), nullptr);
  HOPLITE_CHECK(count >= 0 || errno == EINTR);
}

void EventSet::PokeAwaiting() const { Signal(poke_awaiting_); }

void EventSet::UnpokeAwaiting() const { Clear(poke_awaiting_); }

}  // namespace hoplite::task
