// Backend is how a client reaches its node: in its own process, or over the
// node's Unix socket.
//
// Thread safety: thread-safe.

#ifndef HOPLITE_API_BACKEND_H_
#define HOPLITE_API_BACKEND_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "hoplite/core/event.h"
#include "hoplite/runtime/node_report.h"

namespace hoplite {

// Memory of the node's store into which a Put is written. Its memory stays
// while this lives. Thread safety: none; one thread at a time.
class CallRoom {
 public:
  virtual ~CallRoom() = default;
  virtual std::span<std::byte> bytes() = 0;
  // [0, to) is written. REQUIRES: to <= size, and never falls.
  virtual void Advance(std::uint64_t to) = 0;
  // All is written, and nothing more will be.
  virtual void Fill() = 0;
};

struct CallAnswer {
  absl::Status status;
  // Of a Get that succeeded; readable while `pin` is held.
  std::span<const std::byte> object;
  std::shared_ptr<const void> pin;
  std::vector<ObjectId> sources;  // of a Reduce that succeeded
};

// Hears of one call, from a thread that must not be held up.
class CallObserver {
 public:
  virtual ~CallObserver() = default;
  // Only of a Put without a payload; at most once, before the answer.
  virtual void OnRoom(std::unique_ptr<CallRoom> /*room*/) {}
  // The last one.
  virtual void OnAnswer(CallAnswer answer) = 0;
};

class Backend {
 public:
  virtual ~Backend() = default;

  // A number that no other call of this client has.
  virtual RequestId NewRequest() = 0;
  // Starts what `event` says: see RequestPort. Always answered, also where
  // the node is gone. REQUIRES: ValidateRequest(event).ok().
  virtual void Submit(Event event, std::shared_ptr<CallObserver> observer) = 0;
  // Answered with kCancelled unless it has been answered.
  virtual void Cancel(RequestId request) = 0;
  // Blocks. Errors: kDeadlineExceeded: no answer within `timeout`, or 5 s.
  virtual absl::StatusOr<NodeReport> Report(absl::Duration timeout) = 0;
  // Answers all calls with kCancelled, now and later. Not from an observer.
  virtual void Shutdown() = 0;
};

}  // namespace hoplite

#endif  // HOPLITE_API_BACKEND_H_
