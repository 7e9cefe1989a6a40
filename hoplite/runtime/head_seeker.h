// HeadSeeker asks at the head's address, again and again, until whoever is the
// head there takes this node back, or says that its life is over.
//
// The thread starts with the first search and sleeps between attempts.
//
// Thread safety: thread-safe.

#ifndef HOPLITE_RUNTIME_HEAD_SEEKER_H_
#define HOPLITE_RUNTIME_HEAD_SEEKER_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <thread>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "hoplite/base/mutex.h"
#include "hoplite/core/command.h"
#include "hoplite/core/event.h"
#include "hoplite/net/control_transport.h"

namespace hoplite {

class HeadSeeker {
 public:
  // `deliver` takes HeadFound or Fenced, from the own thread, under no lock.
  // Ownership: `control` outlives this.
  HeadSeeker(ControlTransport* control, std::function<void(Event)> deliver)
      : control_(control), deliver_(std::move(deliver)) {}
  // As Stop does.
  ~HeadSeeker() { Stop(); }
  HeadSeeker(const HeadSeeker&) = delete;
  HeadSeeker& operator=(const HeadSeeker&) = delete;

  // A search that is under way goes on with the new order.
  void Seek(const command::SeekHead& order);
  // Soon over where the transport has shut down. REQUIRES: not called by
  // `deliver`.
  void Stop();

 private:
  void Run();
  // The order to try now; nullopt: to end. Waits for one.
  std::optional<command::SeekHead> Next();
  // What the attempt has found out; nullopt: nothing yet.
  std::optional<Event> Try(const command::SeekHead& order);
  void Pause();

  ControlTransport* const control_;
  const std::function<void(Event)> deliver_;

  Mutex mutex_;
  CondVar changed_;
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
  std::optional<command::SeekHead> order_ ABSL_GUARDED_BY(mutex_);
  std::thread thread_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace hoplite

#endif  // HOPLITE_RUNTIME_HEAD_SEEKER_H_
