// FutureState is what the copies of a Future share: a result that comes once.
//
// Users need only future.h. Whoever waits is bound by the call's guard, a time
// soon after the call's deadline: where nothing has come by then, because the
// node does not answer, the call is expired from this side.
//
// Thread safety: thread-safe.

#ifndef HOPLITE_API_FUTURE_STATE_H_
#define HOPLITE_API_FUTURE_STATE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "hoplite/base/mutex.h"

namespace hoplite {

class FutureStateBase {
 public:
  FutureStateBase() = default;
  virtual ~FutureStateBase() = default;
  FutureStateBase(const FutureStateBase&) = delete;
  FutureStateBase& operator=(const FutureStateBase&) = delete;

  bool Ready() const;
  // False where the deadline came first.
  bool Wait(absl::Time deadline);
  // How the call is cancelled; and what whoever waits past `guard` does, once.
  // Both are to make it ready soon, and are let go when it is.
  // REQUIRES: called at most once, before others have the state.
  void Prepare(std::function<void()> cancel, absl::Time guard,
               std::function<void()> expire);
  // Nothing where it is ready, or was not prepared.
  void Cancel();
  // Calls `listener` once when ready, on the thread that makes it so; at once
  // where it is ready already (then the number is 0).
  std::uint64_t Listen(std::function<void()> listener);
  // The listener is not called any more, but may be running.
  void Unlisten(std::uint64_t number);
  // When it became ready, in the order of this process; 0: it is not.
  std::uint64_t ready_order() const;

 protected:
  // Calls `store` under the lock, which stores the result, unless ready.
  bool Complete(absl::FunctionRef<void()> store);

 private:
  mutable Mutex mutex_;
  CondVar ready_;
  std::uint64_t ready_order_ ABSL_GUARDED_BY(mutex_) = 0;
  std::uint64_t last_listener_ ABSL_GUARDED_BY(mutex_) = 0;
  std::map<std::uint64_t, std::function<void()>> listeners_
      ABSL_GUARDED_BY(mutex_);

  std::function<void()> cancel_ ABSL_GUARDED_BY(mutex_);
  std::function<void()> expire_ ABSL_GUARDED_BY(mutex_);
  absl::Time guard_ ABSL_GUARDED_BY(mutex_) = absl::InfiniteFuture();
};

template <typename Result>
class FutureState final : public FutureStateBase {
 public:
  // False where it was ready: the first result counts.
  bool Set(Result result) {
    return Complete([&] { result_.emplace(std::move(result)); });
  }
  bool Fail(absl::Status status) { return Set(Result(std::move(status))); }
  // REQUIRES: Ready(). It never changes again.
  const Result& result() const { return *result_; }

 private:
  // Written once, before Ready() is true, and only read afterwards.
  std::optional<Result> result_;
};

// See WaitForFirst in future.h.
std::vector<std::size_t> WaitForFirstStates(
    std::span<FutureStateBase* const> states, std::size_t count,
    absl::Time deadline);

}  // namespace hoplite

#endif  // HOPLITE_API_FUTURE_STATE_H_
