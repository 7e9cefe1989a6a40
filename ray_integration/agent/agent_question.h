// AgentQuestion asks an agent, as an observer, and has its answer.
//
// Thread safety: thread-safe.

#ifndef HOPLITE_RAY_INTEGRATION_AGENT_AGENT_QUESTION_H_
#define HOPLITE_RAY_INTEGRATION_AGENT_AGENT_QUESTION_H_

#include <memory>
#include <utility>
#include <variant>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "hoplite/base/mutex.h"
#include "ray_integration/link/link.h"
#include "ray_integration/link/poller.h"
#include "ray_integration/wire/message.h"

namespace hoplite::task {

// M is a message that agents answer with another of its kind.
template <typename M>
class AgentQuestion {
 public:
  // Asks the agent at the address of a link; does not wait. Whoever does, asks
  // for answered() in the poller's Wait.
  AgentQuestion(Poller& poller, absl::string_view address)
      : handler_(std::make_shared<Handler>()),
        link_(poller.Connect(address, handler_)) {
    link_->Send(ToFrame(message::Hello{.role = message::Role::kObserver}));
    link_->Send(ToFrame(M{}));
  }

  bool answered() const { return handler_->answered(); }
  // Errors: kUnavailable where no agent is there; kDeadlineExceeded where it
  // has not answered yet.
  absl::StatusOr<M> answer() const { return handler_->answer(); }

 private:
  class Handler final : public LinkHandler {
   public:
    void OnFrame(Link&, absl::string_view frame) override {
      absl::StatusOr<Message> message = FromFrame(frame);
      if (!message.ok()) return;
      if (auto* answer = std::get_if<M>(&*message)) Set(std::move(*answer));
    }
    void OnClosed(Link&, const absl::Status& why) override {
      Set(absl::UnavailableError(why.message()));
    }
    bool answered() const {
      MutexLock lock(mutex_);
      return answered_;
    }
    absl::StatusOr<M> answer() const {
      MutexLock lock(mutex_);
      return answer_;
    }

   private:
    void Set(absl::StatusOr<M> answer) {
      MutexLock lock(mutex_);
      if (!std::exchange(answered_, true)) answer_ = std::move(answer);
    }

    mutable Mutex mutex_;
    bool answered_ ABSL_GUARDED_BY(mutex_) = false;
    absl::StatusOr<M> answer_ ABSL_GUARDED_BY(mutex_) =
        absl::DeadlineExceededError("the agent does not answer");
  };

  const std::shared_ptr<Handler> handler_;
  const LinkPtr link_;
};

}  // namespace hoplite::task

#endif  // HOPLITE_RAY_INTEGRATION_AGENT_AGENT_QUESTION_H_
