#include "hoplite/sim/checkers/recovery_checker.h"

#include <variant>

#include "absl/strings/str_cat.h"
#include "hoplite/base/digest.h"

namespace hoplite::sim {
namespace {

using Kind = RequestRecord::Kind;

// From when all that is needed is there, a call ends within this.
constexpr absl::Duration kBound = absl::Seconds(20);
constexpr std::uint64_t kNewSize = 100'000;

}  // namespace

void RecoveryChecker::ExpectRecovery(absl::Time time) {
  expects_ = true;
  simulation_->agenda().At(time, [this] { AskForAll(); });
}

bool RecoveryChecker::WasPut(const ObjectId& object, absl::Time before) const {
  if (history_->DeleteAsked(object)) return false;
  for (RequestKey key : history_->On(object, Kind::kPut)) {
    const RequestRecord& put = *history_->Find(key);
    if (put.answered.has_value() && *put.answered <= before &&
        put.code == absl::StatusCode::kOk) {
      return true;
    }
  }
  return false;
}

std::set<ObjectId> RecoveryChecker::Held() const {
  std::set<ObjectId> held;
  for (NodeRef node : simulation_->nodes()) {
    for (const LocalObjectStatus& each :
         simulation_->machine(node.node).Status().objects) {
      if (each.state == "complete") held.insert(each.object);
    }
  }
  return held;
}

void RecoveryChecker::AskForAll() {
  const std::vector<NodeRef> nodes = simulation_->nodes();
  const absl::Time now = simulation_->agenda().now();
  const absl::Time deadline = now + kBound;
  std::size_t turn = 0;
  const auto next = [&] { return nodes[turn++ % nodes.size()].node; };
  const auto get = [&](const ObjectId& object) {
    GetSpec spec;
    spec.node = next();
    spec.object = object;
    spec.deadline = deadline;
    requests_->ExpectOk(simulation_->clients().Get(spec));
  };
  for (const ObjectId& object : Held()) {
    if (WasPut(object, now)) get(object);
  }
  for (std::uint32_t i = 0; i < nodes.size(); ++i) {
    PutSpec spec;
    spec.node = next();
    spec.object = IdFromName(absl::StrCat("after the faults ", i));
    spec.size = kNewSize;
    spec.deadline = deadline;
    requests_->ExpectOk(simulation_->clients().Put(spec));
    get(spec.object);
  }
}

void RecoveryChecker::EndReductions(absl::Time time) {
  simulation_->agenda().At(time, [this] { DeleteTargets(); });
}

void RecoveryChecker::DeleteTargets() {
  const std::vector<NodeRef> nodes = simulation_->nodes();
  std::size_t turn = 0;
  for (const ObjectId& target : targets_) {
    DeleteSpec spec;
    spec.node = nodes[turn++ % nodes.size()].node;
    spec.object = target;
    spec.deadline = simulation_->agenda().now() + kBound;
    simulation_->clients().Delete(spec);
  }
}

void RecoveryChecker::OnEvent(absl::Time, NodeRef, const Event& event) {
  const auto* reduce = std::get_if<event::ReduceRequested>(&event);
  if (reduce != nullptr) targets_.insert(reduce->target);
}

void RecoveryChecker::OnCommand(absl::Time now, NodeRef node,
                                const Command& command) {
  const auto* answer = std::get_if<command::AnswerRequest>(&command);
  if (!expects_ || answer == nullptr ||
      answer->code != absl::StatusCode::kDeadlineExceeded) {
    return;
  }
  const RequestRecord* get = history_->Find({node.node, answer->request});
  if (get == nullptr || get->kind != Kind::kGet ||
      now - get->asked < 2 * kBound || !WasPut(get->object, now - kBound) ||
      !Held().contains(get->object)) {
    return;
  }
  violations_->Add(kName, now,
                   absl::StrCat(ToString(node.node), " waits in vain for ",
                                get->object.ToHex().substr(0, 8),
                                ", which was put and is held"));
}

}  // namespace hoplite::sim
