// Observers see a run as it happens: traces and checkers.
//
// Thread safety: none; one thread at a time.

#ifndef HOPLITE_SIM_OBSERVER_H_
#define HOPLITE_SIM_OBSERVER_H_

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "hoplite/base/id.h"
#include "hoplite/core/command.h"
#include "hoplite/core/event.h"
#include "hoplite/sim/content.h"
#include "hoplite/sim/machine.h"

namespace hoplite::sim {

// A server sends a frame.
struct FrameSent {
  NodeRef server;
  NodeRef receiver;
  PullKey key;
  Generation generation;  // that the receiver asked for
  Segments content;
};

class Observer {
 public:
  virtual ~Observer() = default;
  // The machine is about to hear of an event.
  virtual void OnEvent(absl::Time, NodeRef, const Event&) {}
  // The machine is about to be called for its timeout.
  virtual void OnTimeout(absl::Time, NodeRef) {}
  // A command of the machine is about to be carried out.
  virtual void OnCommand(absl::Time, NodeRef, const Command&) {}
  // All commands of one call are carried out.
  virtual void OnHandled(absl::Time, NodeRef, const Machine&) {}
  virtual void OnFrameSent(absl::Time, const FrameSent&) {}
  // The node's life has ended, and all that it held with it.
  virtual void OnNodeDown(absl::Time, NodeRef) {}
  // A command of the machine cannot be carried out.
  virtual void OnComplaint(absl::Time, NodeRef, absl::string_view) {}
  // The run has ended: nothing is under way and no request is open, or the
  // time allowed is over.
  virtual void OnEnd(absl::Time) {}
};

}  // namespace hoplite::sim

#endif  // HOPLITE_SIM_OBSERVER_H_
