#include "hoplite/net/tcp_data_loop.h"

#include <pthread.h>
#include <unistd.h>

// ThreadSanitizer does not know Asio's fences. The loop needs none: it has one
// thread, and what others post to it goes through a lock.
#ifdef __SANITIZE_THREAD__
#define ASIO_DISABLE_FENCED_BLOCK
#endif

#include <algorithm>
#include <asio/error.hpp>
#include <asio/executor_work_guard.hpp>
#include <asio/io_context.hpp>
#include <asio/posix/stream_descriptor.hpp>
#include <asio/post.hpp>
#include <asio/steady_timer.hpp>
#include <chrono>
#include <utility>

#include "hoplite/base/check.h"

namespace hoplite {

struct EventLoop::Parts {
  asio::io_context context{1};  // one thread runs it
  asio::executor_work_guard<asio::io_context::executor_type> work{
      context.get_executor()};
  asio::steady_timer timer{context};
};

EventLoop::Deferred::~Deferred() {
  if (deferred_by_ == nullptr) return;
  auto& list = deferred_by_->deferred_;
  std::replace(list.begin(), list.end(), this, static_cast<Deferred*>(nullptr));
}

EventLoop::EventLoop() : parts_(std::make_unique<Parts>()) {}

EventLoop::~EventLoop() { HOPLITE_CHECK(!thread_.joinable()); }

void EventLoop::Start() {
  HOPLITE_CHECK(!thread_.joinable());
  thread_ = std::thread([this] {
    thread_id_ = std::this_thread::get_id();
    parts_->context.run();
  });
  pthread_setname_np(thread_.native_handle(), "hoplite-data");
}

void EventLoop::Stop() {
  if (!thread_.joinable()) return;
  HOPLITE_CHECK(!InLoop());
  asio::post(parts_->context, [this] { parts_->context.stop(); });
  thread_.join();
  thread_id_ = std::thread::id();
  destroyed_later_.clear();
}

void EventLoop::Post(std::function<void()> task) {
  asio::post(parts_->context, [this, task = std::move(task)] {
    task();
    FinishTask();
  });
}

void EventLoop::Defer(Deferred& deferred) {
  if (deferred.deferred_by_ != nullptr) return;
  deferred.deferred_by_ = this;
  deferred_.push_back(&deferred);
}

void EventLoop::DestroyLater(std::shared_ptr<void> object) {
  destroyed_later_.push_back(std::move(object));
}

void EventLoop::StartTicking() {
  if (!std::exchange(ticking_, true)) WaitForTick();
}

void EventLoop::WaitForTick() {
  parts_->timer.expires_after(std::chrono::seconds(1));
  parts_->timer.async_wait([this](const asio::error_code& error) {
    if (error) return;
    if (tick_()) {
      WaitForTick();
    } else {
      ticking_ = false;
    }
    FinishTask();
  });
}

void EventLoop::FinishTask() {
  // What runs here may defer more.
  for (std::size_t i = 0; i < deferred_.size(); ++i) {
    Deferred* const deferred = deferred_[i];
    if (deferred == nullptr) continue;
    deferred_[i] = nullptr;
    deferred->deferred_by_ = nullptr;
    deferred->RunDeferred();
  }
  deferred_.clear();
  while (!destroyed_later_.empty()) {
    std::vector<std::shared_ptr<void>> ended;
    ended.swap(destroyed_later_);
  }
}

struct Watch::State {
  State(EventLoop& event_loop, int file, Handler* watch_handler)
      : loop(event_loop),
        descriptor(event_loop.parts_->context),
        handler(watch_handler) {
    asio::error_code error;
    descriptor.assign(file, error);
    if (error) ::close(file);
  }

  // False: the watch has ended. Any error but that is for the handler, who
  // meets it when he reads or writes.
  bool IsWanted(const asio::error_code& error) const {
    return handler != nullptr && error != asio::error::operation_aborted;
  }

  EventLoop& loop;
  asio::posix::stream_descriptor descriptor;
  Handler* handler;  // null: the watch has ended
  bool waits_readable = false;
  bool waits_writable = false;
};

Watch::Watch(EventLoop& loop, int descriptor, Handler* handler)
    : state_(std::make_shared<State>(loop, descriptor, handler)) {}

Watch::~Watch() {
  state_->handler = nullptr;
  asio::error_code error;
  state_->descriptor.close(error);
}

int Watch::descriptor() const { return state_->descriptor.native_handle(); }

void Watch::SetHandler(Handler* handler) { state_->handler = handler; }

void Watch::WaitReadable() {
  if (std::exchange(state_->waits_readable, true)) return;
  state_->descriptor.async_wait(
      asio::posix::descriptor_base::wait_read,
      [state = state_](const asio::error_code& error) {
        state->waits_readable = false;
        if (!state->IsWanted(error)) return;
        state->handler->OnReadable();
        state->loop.FinishTask();
      });
}

void Watch::WaitWritable() {
  if (std::exchange(state_->waits_writable, true)) return;
  state_->descriptor.async_wait(
      asio::posix::descriptor_base::wait_write,
      [state = state_](const asio::error_code& error) {
        state->waits_writable = false;
        if (!state->IsWanted(error)) return;
        state->handler->OnWritable();
        state->loop.FinishTask();
      });
}

}  // namespace hoplite
