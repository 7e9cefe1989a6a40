// The one thread that polls a gRPC completion queue, and what it is asked to
// do besides: work posted to it, and one timer.
//
// Idle, it sleeps in the kernel. Work posted by the thread itself costs no
// wake-up: it runs when the current operation has been handled.
//
// Thread safety: thread-safe.

#ifndef HOPLITE_NET_GRPC_LOOP_H_
#define HOPLITE_NET_GRPC_LOOP_H_

#include <grpcpp/alarm.h>
#include <grpcpp/grpcpp.h>

#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "hoplite/base/mutex.h"
#include "hoplite/net/exchange_call.h"

namespace hoplite {

class GrpcLoop {
 public:
  using Clock = std::chrono::steady_clock;

  // Begins to poll. Every tag on the queue must be an Operation.
  explicit GrpcLoop(std::unique_ptr<grpc::ServerCompletionQueue> queue);
  ~GrpcLoop() { Stop(); }

  grpc::ServerCompletionQueue* queue() { return queue_.get(); }

  // True on the thread that polls.
  bool IsCurrentThread() const;
  // Runs `start`, which starts `operation` on the queue. Where the operation
  // has ended by then, its result is returned, and it is not reported to
  // `operation`: so no other thread is woken for it.
  std::optional<bool> StartInline(const Operation* operation,
                                  absl::FunctionRef<void()> start);
  // Runs `work` on the thread, in the order of the calls; after Stop, never.
  void Post(std::function<void()> work);
  // Runs `work` on the thread soon after `at`, unless a call is set for an
  // earlier time: what runs then has to look for all that is due, and ask
  // again for the rest.
  void CallAt(Clock::time_point at, std::function<void()> work);
  // Ends the thread when the operations under way have ended. REQUIRES: no
  // operation is started from now on; not called by the thread itself.
  void Stop();

 private:
  void Run();
  void RunPosted();
  void ArmTimer() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void HandleTimer(bool ok);

  const std::unique_ptr<grpc::ServerCompletionQueue> queue_;

  Mutex mutex_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::deque<std::function<void()>> posted_ ABSL_GUARDED_BY(mutex_);
  bool waking_ ABSL_GUARDED_BY(mutex_) = false;
  grpc::Alarm wake_ ABSL_GUARDED_BY(mutex_);
  Operation woken_;
  std::optional<Clock::time_point> timer_at_ ABSL_GUARDED_BY(mutex_);
  std::function<void()> timer_work_ ABSL_GUARDED_BY(mutex_);
  grpc::Alarm timer_ ABSL_GUARDED_BY(mutex_);
  Operation timed_;

  std::thread thread_;
};

}  // namespace hoplite

#endif  // HOPLITE_NET_GRPC_LOOP_H_
