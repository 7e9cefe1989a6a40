// What the simulator drives: a node's machine, or one that stands for it.
//
// Node is the real thing (MakeNode). A decorator may stand between it and the
// simulator: so known mistakes are planted, without the machine's help.
//
// Thread safety: none; one thread at a time.

#ifndef HOPLITE_SIM_MACHINE_H_
#define HOPLITE_SIM_MACHINE_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/time/time.h"
#include "hoplite/core/command.h"
#include "hoplite/core/config.h"
#include "hoplite/core/event.h"
#include "hoplite/core/node.h"

namespace hoplite::sim {

// The methods are those of Node, with the same contracts.
class Machine {
 public:
  virtual ~Machine() = default;
  virtual void Handle(absl::Time now, const Event& event, Commands& out) = 0;
  virtual void HandleTimeout(absl::Time now, Commands& out) = 0;
  virtual std::optional<absl::Time> NextTimeout() const = 0;
  virtual NodeStatus Status() const = 0;
  virtual std::string CheckInvariants() const = 0;
};

using MachineFactory = std::function<std::unique_ptr<Machine>(NodeConfig)>;

// A Node.
std::unique_ptr<Machine> MakeNode(NodeConfig config);

}  // namespace hoplite::sim

#endif  // HOPLITE_SIM_MACHINE_H_
