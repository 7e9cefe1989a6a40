// Future is the answer to a call, which may still be to come.
//
// A future is a handle: copies stand for the same call. It may be waited for,
// called back from, cancelled, or thrown away, which cancels nothing. The
// result of Future<Buffer> is an absl::StatusOr<Buffer>, that of Future<void>
// an absl::Status.
//
//   hoplite::Future<hoplite::Buffer> weights = client->GetAsync(id);
//   …
//   absl::StatusOr<hoplite::Buffer> result = weights.Get();
//
// Thread safety: thread-safe.

#ifndef HOPLITE_API_FUTURE_H_
#define HOPLITE_API_FUTURE_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "hoplite/api/future_state.h"

namespace hoplite {

template <typename T>
class Future {
 public:
  using Result =
      std::conditional_t<std::is_void_v<T>, absl::Status, absl::StatusOr<T>>;

  // Of no call. Everything below REQUIRES: valid().
  Future() = default;
  explicit Future(std::shared_ptr<FutureState<Result>> state)
      : state_(std::move(state)) {}

  bool valid() const { return state_ != nullptr; }

  // True where the result is here; does not block.
  bool Ready() const { return state_->Ready(); }
  // Blocks until it is here (true) or the deadline has come (false).
  bool Wait(absl::Time deadline = absl::InfiniteFuture()) const {
    return state_->Wait(deadline);
  }
  // Blocks until the result is here, at the latest soon after the call's own
  // deadline, and returns a copy of it.
  Result Get() const {
    state_->Wait(absl::InfiniteFuture());
    return state_->result();
  }
  // Ends the call: the result is kCancelled unless it is here already. An
  // object whose Put is cancelled may have been put nevertheless.
  void Cancel() const { state_->Cancel(); }
  // Calls `callback` once, with the result: on this thread where it is here
  // already, else on the thread that brings it, which must not be held up.
  // The callback may start other calls, but must not wait for any.
  void Then(std::function<void(const Result&)> callback) const {
    state_->Listen([state = state_.get(), call = std::move(callback)] {
      call(state->result());
    });
  }

  const std::shared_ptr<FutureState<Result>>& state() const { return state_; }

 private:
  std::shared_ptr<FutureState<Result>> state_;
};

// Blocks until `count` of the futures are ready or the deadline has come.
// Returns the indices of those that were ready first, in the order in which
// they became so: `count` of them, or fewer where the deadline came before. A
// count above the number of futures means all of them. REQUIRES: all valid.
template <typename T>
std::vector<std::size_t> WaitForFirst(
    std::span<const Future<T>> futures, std::size_t count,
    absl::Time deadline = absl::InfiniteFuture()) {
  std::vector<FutureStateBase*> states;
  states.reserve(futures.size());
  for (const Future<T>& future : futures) {
    states.push_back(future.state().get());
  }
  return WaitForFirstStates(states, count, deadline);
}

}  // namespace hoplite

#endif  // HOPLITE_API_FUTURE_H_
