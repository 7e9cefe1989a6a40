// ClientRequests knows the requests of a node that are not answered yet, and
// makes out of the machine's answer the error that a person can read. A node
// that may have been given up by the others, and does not know, answers nothing
// with success: what it has may be different by now.
//
// Thread safety: thread-safe.

#ifndef HOPLITE_RUNTIME_CLIENT_REQUESTS_H_
#define HOPLITE_RUNTIME_CLIENT_REQUESTS_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "hoplite/base/mutex.h"
#include "hoplite/core/command.h"
#include "hoplite/runtime/request_port.h"

namespace hoplite {

// What the machine does not say of a failure.
struct FailureContext {
  absl::string_view operation;  // "Get"
  ObjectId object;
  NodeRef local;
  std::string remote_address;  // of the answer's remote node, or empty
  absl::Duration taken;
  absl::Duration timeout;  // infinite: it had no deadline
};
// "Get of <id> on node 2: <detail>; remote node 5 at 10.0.0.5:7001; 1024 of
// 4096 bytes done; after 5.003s, deadline 5.000s".
absl::Status DescribeFailure(const command::AnswerRequest& answer,
                             const FailureContext& context);

// "after 5.003s, deadline 5.000s"; without one "after 5.003s, no deadline".
std::string DescribeTimes(absl::Duration taken, absl::Duration timeout);

class ClientRequests {
 public:
  // Numbers begin after `last_request`: those of a node's other lives are not
  // to come again.
  // `doubtful`: whether this node may have been given up; thread-safe, and
  // followed by Review. Null: never.
  explicit ClientRequests(std::uint64_t last_request = 0,
                          std::function<bool()> doubtful = nullptr)
      : doubtful_(std::move(doubtful)), last_request_(last_request) {}

  RequestId NewRequest() { return RequestId(++last_request_); }

  // Takes in the request that `event` is. False, and the observer is answered,
  // where the table is closed.
  bool Add(const Event& event, std::shared_ptr<RequestObserver> observer);
  // Of a request that has not been answered; else null.
  std::shared_ptr<RequestObserver> Find(RequestId request) const;
  // Tells the observer and forgets the request; where it is not here, nothing.
  // `object` is the buffer that answer.buffer names. A success that is doubtful
  // waits for Review.
  void Answer(const command::AnswerRequest& answer, NodeRef local,
              std::string remote_address, std::shared_ptr<ObjectBuffer> object);
  // Where there is no doubt, gives the answers that have waited; else those
  // whose deadline has passed end with that.
  void Review(bool doubtful, NodeRef local);
  // Answers everything so, now and later: the node shuts down, or its life is
  // over.
  void Close(NodeRef local,
             absl::StatusCode code = absl::StatusCode::kCancelled,
             std::string why = "this node is shutting down");

  std::uint64_t started() const { return started_; }
  std::uint64_t failed() const { return failed_; }

 private:
  struct Pending {
    absl::string_view operation;
    ObjectId object;
    absl::Time began;
    absl::Time deadline;
    std::shared_ptr<RequestObserver> observer;
    std::optional<RequestAnswer> held;  // an answer that waits for Review
  };

  void Fail(const Pending& pending, NodeRef local,
            const command::AnswerRequest& answer, std::string remote_address);

  const std::function<bool()> doubtful_;
  std::atomic<std::uint64_t> last_request_;
  std::atomic<std::uint64_t> started_ = 0;
  std::atomic<std::uint64_t> failed_ = 0;
  mutable Mutex mutex_;
  std::uint64_t held_ ABSL_GUARDED_BY(mutex_) = 0;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  NodeRef local_ ABSL_GUARDED_BY(mutex_);                       // once closed
  command::AnswerRequest last_answer_ ABSL_GUARDED_BY(mutex_);  // likewise
  absl::flat_hash_map<RequestId, Pending> pending_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace hoplite

#endif  // HOPLITE_RUNTIME_CLIENT_REQUESTS_H_
