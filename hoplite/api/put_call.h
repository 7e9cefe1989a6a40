// PutCall is a Put that is written into the node's store in place: what stands
// behind a WritableBuffer, and behind the Put of a large object.
//
// While an object is copied from a caller's memory, its future does not become
// ready: an answer that comes in between ends the copying first, so that the
// caller may let his memory go when he has the result.
//
// Thread safety: thread-safe; the room is written by one thread at a time.
// Units: bytes.

#ifndef HOPLITE_API_PUT_CALL_H_
#define HOPLITE_API_PUT_CALL_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "hoplite/api/backend.h"
#include "hoplite/api/call_guard.h"
#include "hoplite/api/future.h"
#include "hoplite/base/mutex.h"

namespace hoplite {

class PutCall final : public CallObserver,
                      public std::enable_shared_from_this<PutCall> {
 public:
  // `put` has its number from the backend, and is submitted by Start.
  PutCall(std::shared_ptr<Backend> backend, event::PutRequested put);

  void Start();

  // Ready when there is room, or with why there is none.
  Future<void> room_ready() const { return Future<void>(room_ready_); }
  // The answer to the Put.
  Future<void> done() const { return Future<void>(done_); }

  // REQUIRES: room_ready() is OK.
  std::span<std::byte> bytes() const { return room_bytes_; }
  void Advance(std::uint64_t to);
  // All is written.
  void Seal();
  // Unless it is sealed, the object never was.
  void Abandon();
  // Copies `data` into the room and seals it; ends early where an answer has
  // come. REQUIRES: room_ready() is OK, data.size() is the room's.
  void CopyAndSeal(std::span<const std::byte> data);

  void OnRoom(std::unique_ptr<CallRoom> room) override;
  void OnAnswer(CallAnswer answer) override;

 private:
  // Ends the call from this side.
  void End(absl::Status status);
  // The answer is `status`, unless there is one.
  void Finish(absl::Status status);
  bool finished() const;

  const std::shared_ptr<Backend> backend_;
  const event::PutRequested put_;
  const CallName name_;
  const std::shared_ptr<FutureState<absl::Status>> room_ready_ =
      std::make_shared<FutureState<absl::Status>>();
  const std::shared_ptr<FutureState<absl::Status>> done_ =
      std::make_shared<FutureState<absl::Status>>();

  // Set before room_ready_; the room is written by its one writer.
  std::unique_ptr<CallRoom> room_;
  std::span<std::byte> room_bytes_;

  mutable Mutex mutex_;
  bool sealed_ ABSL_GUARDED_BY(mutex_) = false;
  bool copying_ ABSL_GUARDED_BY(mutex_) = false;
  std::optional<absl::Status> answer_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace hoplite

#endif  // HOPLITE_API_PUT_CALL_H_
