// RequestPort is a node as its clients see it, and RequestObserver a client's
// call as its node sees it.
//
// Thread safety: thread-safe.

#ifndef HOPLITE_RUNTIME_REQUEST_PORT_H_
#define HOPLITE_RUNTIME_REQUEST_PORT_H_

#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "hoplite/core/event.h"
#include "hoplite/runtime/node_report.h"
#include "hoplite/store/object_buffer.h"

namespace hoplite {

// The end of a request.
struct RequestAnswer {
  absl::Status status;  // with all that an error has to say
  // Of a Get that succeeded: the object, pinned for as long as this is held.
  std::shared_ptr<ObjectBuffer> object;
  std::vector<ObjectId> sources;  // of a Reduce that succeeded
};

// Hears of one request, from the thread that runs the node's machine, or one
// that reviews answers in doubt, with no lock held: must not block, nor wait
// for another request; may start some.
class RequestObserver {
 public:
  virtual ~RequestObserver() = default;
  // A Put has room: the client fills the buffer and then says Filled. At most
  // once, and before the answer.
  virtual void OnRoom(std::shared_ptr<ObjectBuffer> buffer) = 0;
  // The last call.
  virtual void OnAnswer(RequestAnswer answer) = 0;
};

class RequestPort {
 public:
  virtual ~RequestPort() = default;

  // A number that no other request of this node has.
  virtual RequestId NewRequest() = 0;
  // Starts the request that `event` (PutRequested, GetRequested,
  // DeleteRequested, ReduceRequested) is, under its own number from
  // NewRequest; its answer may come before this returns.
  // REQUIRES: ValidateRequest(event).ok().
  virtual void Submit(Event event,
                      std::shared_ptr<RequestObserver> observer) = 0;
  // The buffer of a Put is all written.
  virtual void Filled(RequestId request) = 0;
  // Answered with kCancelled unless it has been answered.
  virtual void Cancel(RequestId request) = 0;
  // REQUIRES: not called by a RequestObserver.
  virtual NodeReport Report() = 0;
};

// OK, or why the request cannot be (kInvalidArgument, kResourceExhausted):
// what a client may get wrong, and what garbage on its socket may say.
absl::Status ValidateRequest(const Event& request);

}  // namespace hoplite

#endif  // HOPLITE_RUNTIME_REQUEST_PORT_H_
