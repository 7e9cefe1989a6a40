// What the models of data plane and clients need of the simulated nodes.
//
// Thread safety: none; one thread at a time.

#ifndef HOPLITE_SIM_NODE_HOST_H_
#define HOPLITE_SIM_NODE_HOST_H_

#include <string>

#include "hoplite/base/id.h"
#include "hoplite/base/payload.h"
#include "hoplite/core/event.h"
#include "hoplite/sim/agenda.h"
#include "hoplite/sim/content.h"
#include "hoplite/sim/observer.h"
#include "hoplite/sim/store_model.h"

namespace hoplite::sim {

class NodeHost {
 public:
  virtual ~NodeHost() = default;

  virtual Agenda& agenda() = 0;
  virtual ContentTable& contents() = 0;
  // True where this node is up in this incarnation.
  virtual bool IsUp(NodeRef node) const = 0;
  // True where what one node sends reaches the other now: both run, the way is
  // open, and the receiver has not been told that the sender is dead.
  virtual bool Reaches(NodeRef from, NodeRef to) const = 0;
  virtual bool HasNode(NodeId node) const = 0;
  // REQUIRES: the node is up.
  virtual StoreModel& store(NodeId node) = 0;
  // The event reaches the node's machine, in order with others so told, unless
  // this life of the node ends before.
  virtual void Tell(NodeId node, Event event) = 0;
  // A command of the node makes no sense.
  virtual void Complain(NodeId node, std::string what) = 0;
  virtual void Report(const FrameSent& frame) = 0;
  // Bytes were added to a buffer.
  virtual void BufferAdvanced(NodeId node, BufferId buffer) = 0;
  // A holder lets a buffer go; room that comes back is told to the machine.
  virtual void LetGo(NodeId node, BufferId buffer,
                     StoreModel::Holder holder) = 0;
  // Bytes that stand for a content.
  virtual Payload PayloadOf(ContentId content, std::uint64_t size) = 0;
};

}  // namespace hoplite::sim

#endif  // HOPLITE_SIM_NODE_HOST_H_
