// FutureState is what the copies of a Future share: a result that comes once.
//
// Users need only future.h. A state's waiting is bounded by its guard: where
// no result has come by then, the first who waits gives it one.
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
#include <string>
#include <utility>
#include <vector>

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
  // False where the deadline came first. Past the guard a state that is not
  // ready is given kDeadlineExceeded.
  bool Wait(absl::Time deadline);
  // What Cancel does, and the time by which a result must have come, with the
  // text of the error that stands for it then. REQUIRES: called at most once,
  // before others have the state.
  void Prepare(std::function<void()> cancel, absl::Time guard,
               std::function<std::string()> guard_text);
  void Cancel();
  // Calls `listener` once when ready, on the thread that makes it so; at once
  // where it is ready already (then the number is 0).
  std::uint64_t Listen(std::function<void()> listener);
  // The listener is not called any more, but may be running.
  void Unlisten(std::uint64_t number);
  // When it became ready, in the order of this process; 0: it is not.
  std::uint64_t ready_order() const;

  // Makes it ready with an error; false where it was ready.
  virtual bool Fail(absl::Status status) = 0;

 protected:
  // Calls `store` under the lock, which stores the result, unless ready.
  bool Complete(const std::function<void()>& store);

 private:
  mutable Mutex mutex_;
  CondVar ready_;
  std::uint64_t ready_order_ ABSL_GUARDED_BY(mutex_) = 0;
  std::uint64_t last_listener_ ABSL_GUARDED_BY(mutex_) = 0;
  std::map<std::uint64_t, std::function<void()>> listeners_
      ABSL_GUARDED_BY(mutex_);

  // Constant once others have the state; cancel_ ends with the result.
  std::function<void()> cancel_ ABSL_GUARDED_BY(mutex_);
  absl::Time guard_ ABSL_GUARDED_BY(mutex_) = absl::InfiniteFuture();
  std::function<std::string()> guard_text_ ABSL_GUARDED_BY(mutex_);
};

template <typename Result>
class FutureState final : public FutureStateBase {
 public:
  // False where it was ready: the first result counts.
  bool Set(Result result) {
    return Complete([&] { result_.emplace(std::move(result)); });
  }
  bool Fail(absl::Status status) override {
    return Set(Result(std::move(status)));
  }
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
