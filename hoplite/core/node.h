// One node's whole protocol state: the thing that a driver holds.
//
// A node routes each event to its machines: the objects held here
// (LocalObjects), this node's part in reductions (ReduceMember), the shards of
// the directory that it hosts (ObjectDirectory), and on the head the
// membership (Head). They do not know each other.
//
// Thread safety: none; one thread at a time.

#ifndef HOPLITE_CORE_NODE_H_
#define HOPLITE_CORE_NODE_H_

#include <memory>
#include <optional>
#include <string>

#include "absl/time/time.h"
#include "hoplite/core/command.h"
#include "hoplite/core/config.h"
#include "hoplite/core/event.h"
#include "hoplite/core/node_status.h"

namespace hoplite {

class Node {
 public:
  explicit Node(NodeConfig config);
  ~Node();
  Node(Node&&) noexcept;

  // Appends to `out` what is to be done. REQUIRES: `now` never decreases.
  void Handle(absl::Time now, const Event& event, Commands& out);
  // A call that comes too early, or twice, is harmless.
  void HandleTimeout(absl::Time now, Commands& out);
  // When HandleTimeout is wanted; may change after any call.
  std::optional<absl::Time> NextTimeout() const;

  NodeStatus Status() const;
  // Empty where every invariant of this node's state holds; else the first
  // that does not, in words.
  std::string CheckInvariants() const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace hoplite

#endif  // HOPLITE_CORE_NODE_H_
