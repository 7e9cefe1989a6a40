#include "hoplite/sim/machine.h"

#include <utility>

namespace hoplite::sim {
namespace {

class NodeMachine final : public Machine {
 public:
  explicit NodeMachine(NodeConfig config) : node_(std::move(config)) {}

  void Handle(absl::Time now, const Event& event, Commands& out) override {
    node_.Handle(now, event, out);
  }
  void HandleTimeout(absl::Time now, Commands& out) override {
    node_.HandleTimeout(now, out);
  }
  std::optional<absl::Time> NextTimeout() const override {
    return node_.NextTimeout();
  }
  NodeStatus Status() const override { return node_.Status(); }
  std::string CheckInvariants() const override {
    return node_.CheckInvariants();
  }

 private:
  Node node_;
};

}  // namespace

std::unique_ptr<Machine> MakeNode(NodeConfig config) {
  return std::make_unique<NodeMachine>(std::move(config));
}

}  // namespace hoplite::sim
