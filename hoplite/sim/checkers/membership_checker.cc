#include "hoplite/sim/checkers/membership_checker.h"

#include <algorithm>
#include <variant>

#include "absl/strings/str_cat.h"

namespace hoplite::sim {

void MembershipChecker::Add(absl::Time now, NodeRef node,
                            absl::string_view what) {
  violations_->Add(kName, now, absl::StrCat(ToString(node.node), " ", what));
}

void MembershipChecker::OnEvent(absl::Time now, NodeRef node,
                                const Event& event) {
  const auto* heard = std::get_if<event::MessageReceived>(&event);
  from_head_ = std::holds_alternative<event::HeadFound>(event) ||
               (heard != nullptr && heard->from.node == kHeadNode);
  declared_dead_ = NodeRef();
  if (heard == nullptr) return;
  const auto* lost = std::get_if<message::MemberLost>(&heard->message);
  if (from_head_ && lost != nullptr) declared_dead_ = lost->member;
  if (!forgotten_.contains({node, heard->from})) return;
  Add(now, node,
      absl::StrCat("hears of ", ToString(heard->from.node),
                   ", which is dead to it"));
}

void MembershipChecker::OnCommand(absl::Time now, NodeRef node,
                                  const Command& command) {
  if (const auto* gone = std::get_if<command::ForgetMember>(&command)) {
    forgotten_.emplace(node, gone->member);
    declared_dead_ = NodeRef();
    if (from_head_) return;
    Add(now, node,
        absl::StrCat("gives up ", ToString(gone->member.node),
                     ", and its head has not said so"));
  } else if (const auto* known = std::get_if<command::LearnMember>(&command)) {
    learned_.emplace(node, known->member.ref);
    if (!forgotten_.contains({node, known->member.ref})) return;
    Add(now, node,
        absl::StrCat("takes ", ToString(known->member.ref.node),
                     " back from the dead"));
  } else if (const auto* admit = std::get_if<command::Admit>(&command)) {
    CheckAdmission(now, node, admit->member.ref);
  }
}

void MembershipChecker::CheckAdmission(absl::Time now, NodeRef head,
                                       NodeRef member) {
  // A head that has just been started is that of another cluster.
  if (head_died_ && head.incarnation == Incarnation(1)) return;
  const std::uint32_t count = simulation_->options().node_count;
  const bool at_start = member.node.value() <= count &&
                        member.incarnation.value() == member.node.value();
  if (at_start || !admitted_.insert(member).second) return;
  const Incarnation last = std::max(last_admitted_, Incarnation(count));
  if (member.incarnation <= last) {
    Add(now, head,
        absl::StrCat("admits ", ToString(member.node),
                     " in a life that is not after all others"));
  }
  last_admitted_ = std::max(last, member.incarnation);
  const auto is_it = [&](NodeRef other) {
    return other.node == member.node && other != member;
  };
  if (std::ranges::any_of(simulation_->nodes(), is_it)) {
    Add(now, head,
        absl::StrCat("admits somebody as ", ToString(member.node),
                     ", which is up"));
  }
}

bool MembershipChecker::Knew(NodeRef node, NodeRef member) const {
  const SimulationOptions& options = simulation_->options();
  return learned_.contains({node, member}) ||
         (options.all_know_all && node.node.value() <= options.node_count &&
          member.node.value() <= options.node_count);
}

void MembershipChecker::OnHandled(absl::Time now, NodeRef node,
                                  const Machine& machine) {
  if (!declared_dead_ || declared_dead_ == node) return;
  for (const Member& member : machine.Status().members) {
    // The order of an earlier head counts for nothing.
    if (member.ref == declared_dead_) return;
  }
  if (Knew(node, declared_dead_) &&
      !forgotten_.contains({node, declared_dead_})) {
    Add(now, node,
        absl::StrCat("goes on with ", ToString(declared_dead_.node),
                     ", which is declared dead"));
  }
}

void MembershipChecker::OnNodeDown(absl::Time, NodeRef node) {
  head_died_ |= node.node == kHeadNode;
  // Each head that is started, in another cluster at first, bears one name.
  const auto of_node = [&](const auto& entry) { return entry.first == node; };
  std::erase_if(forgotten_, of_node);
  std::erase_if(learned_, of_node);
}

void MembershipChecker::OnEnd(absl::Time now) {
  const SimulationOptions& options = simulation_->options();
  const std::vector<NodeRef> nodes = simulation_->nodes();
  if (!options.all_know_all || simulation_->gave_up() || nodes.empty() ||
      nodes.front().node != kHeadNode) {
    return;
  }
  const NodeStatus head = simulation_->machine(kHeadNode).Status();
  for (NodeRef node : nodes) CheckNode(now, node, head);
}

void MembershipChecker::CheckNode(absl::Time now, NodeRef node,
                                  const NodeStatus& head) {
  const auto add = [&](absl::string_view what) { Add(now, node, what); };
  const NodeStatus status = simulation_->machine(node.node).Status();
  std::vector<NodeRef> known;
  for (const Member& member : status.members) known.push_back(member.ref);
  if (known != simulation_->nodes()) {
    add(absl::StrCat("knows ", known.size(), " members, and not the ",
                     simulation_->nodes().size(), " that are up"));
  }
  if (status.shards != head.shards) add("has other hosts of shards");
  for (const ShardAssignment& shard : status.shards) {
    if (std::ranges::count(known, shard.host) > 0) continue;
    add(absl::StrCat("has shard ", shard.at.shard.value(),
                     " on a node that is not up"));
    return;
  }
}

}  // namespace hoplite::sim
