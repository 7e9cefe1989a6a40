#include "hoplite/net/grpc_loop.h"

#include <utility>

#include "hoplite/base/check.h"

namespace hoplite {

namespace {

thread_local const GrpcLoop* current_loop = nullptr;

}  // namespace

GrpcLoop::GrpcLoop(std::unique_ptr<grpc::ServerCompletionQueue> queue)
    : queue_(std::move(queue)) {
  woken_.done = [this](bool) {
    MutexLock lock(mutex_);
    waking_ = false;  // Run does the work
  };
  timed_.done = [this](bool ok) { HandleTimer(ok); };
  thread_ = std::thread([this] { Run(); });
}

bool GrpcLoop::IsCurrentThread() const { return current_loop == this; }

std::optional<bool> GrpcLoop::StartInline(const Operation* operation,
                                          absl::FunctionRef<void()> start) {
  // While `start` runs, gRPC keeps the first thing that ends on this queue in
  // this thread, instead of waking the one that polls.
  grpc_completion_queue_thread_local_cache_init(queue_->cq());
  start();
  void* raw_tag = nullptr;
  int raw_ok = 0;
  if (grpc_completion_queue_thread_local_cache_flush(queue_->cq(), &raw_tag,
                                                     &raw_ok) == 0) {
    return std::nullopt;
  }
  auto* core_tag = static_cast<grpc::internal::CompletionQueueTag*>(raw_tag);
  void* tag = nullptr;
  bool ok = raw_ok != 0;
  if (!core_tag->FinalizeResult(&tag, &ok)) return std::nullopt;
  if (tag == operation) return ok;
  Post([other = static_cast<Operation*>(tag), ok] { other->Complete(ok); });
  return std::nullopt;
}

void GrpcLoop::Post(std::function<void()> work) {
  MutexLock lock(mutex_);
  if (stopping_) return;
  posted_.push_back(std::move(work));
  if (waking_ || IsCurrentThread()) return;
  waking_ = true;
  wake_.Set(queue_.get(), gpr_now(GPR_CLOCK_MONOTONIC), woken_.Tag());
}

void GrpcLoop::CallAt(Clock::time_point at, std::function<void()> work) {
  MutexLock lock(mutex_);
  if (stopping_ || (timer_at_.has_value() && *timer_at_ <= at)) return;
  const bool armed = timer_at_.has_value();
  timer_at_ = at;
  timer_work_ = std::move(work);
  if (armed) {
    timer_.Cancel();  // HandleTimer arms it again
  } else {
    ArmTimer();
  }
}

void GrpcLoop::ArmTimer() {
  const auto wait = std::chrono::duration_cast<std::chrono::microseconds>(
      *timer_at_ - Clock::now());
  timer_.Set(queue_.get(),
             gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC),
                          gpr_time_from_micros(wait.count(), GPR_TIMESPAN)),
             timed_.Tag());
}

void GrpcLoop::Stop() {
  {
    MutexLock lock(mutex_);
    if (stopping_) return;
    stopping_ = true;
    posted_.clear();
    wake_.Cancel();
    timer_.Cancel();
  }
  queue_->Shutdown();
  HOPLITE_CHECK(!IsCurrentThread());
  thread_.join();
}

void GrpcLoop::Run() {
  current_loop = this;
  void* tag = nullptr;
  bool ok = false;
  while (queue_->Next(&tag, &ok)) {
    static_cast<Operation*>(tag)->Complete(ok);
    RunPosted();
  }
}

void GrpcLoop::RunPosted() {
  for (;;) {
    std::function<void()> work;
    {
      MutexLock lock(mutex_);
      if (posted_.empty()) return;
      work = std::move(posted_.front());
      posted_.pop_front();
    }
    work();
  }
}

void GrpcLoop::HandleTimer(bool ok) {
  std::function<void()> work;
  {
    MutexLock lock(mutex_);
    if (stopping_) return;
    if (!ok) {  // an earlier time has been asked for
      ArmTimer();
      return;
    }
    timer_at_.reset();
    work = std::move(timer_work_);
  }
  work();
}

}  // namespace hoplite
