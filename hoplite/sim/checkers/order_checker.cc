#include "hoplite/sim/checkers/order_checker.h"

#include <string>
#include <variant>

#include "absl/strings/str_cat.h"

namespace hoplite::sim {

absl::string_view OrderChecker::Name(Kind kind) {
  switch (kind) {
    case Kind::kBuffer:
      return "CreateBuffer";
    case Kind::kTransfer:
      return "StartTransfer";
    case Kind::kFold:
      return "StartFold";
    case Kind::kPull:
      return "pull";
  }
  return "";
}

void OrderChecker::Begin(NodeRef node, Kind kind, std::uint64_t id) {
  ++open_[Order(node.node, kind, id)];
}

void OrderChecker::End(absl::Time now, NodeRef node, Kind kind,
                       std::uint64_t id) {
  const auto found = open_.find(Order(node.node, kind, id));
  if (found != open_.end()) {
    if (--found->second == 0) open_.erase(found);
    return;
  }
  violations_->Add(kName, now,
                   absl::StrCat(ToString(node.node), ": ", Name(kind), " ", id,
                                " ends once more than it began"));
}

void OrderChecker::OnEvent(absl::Time now, NodeRef node, const Event& event) {
  if (const auto* made = std::get_if<event::BufferCreated>(&event)) {
    End(now, node, Kind::kBuffer, made->buffer.value());
  } else if (const auto* full = std::get_if<event::BufferRefused>(&event)) {
    End(now, node, Kind::kBuffer, full->buffer.value());
  } else if (const auto* done = std::get_if<event::TransferDone>(&event)) {
    End(now, node, Kind::kTransfer, done->transfer.value());
  } else if (const auto* failed = std::get_if<event::TransferFailed>(&event)) {
    End(now, node, Kind::kTransfer, failed->transfer.value());
  } else if (const auto* sum = std::get_if<event::FoldDone>(&event)) {
    End(now, node, Kind::kFold, sum->fold.value());
  } else if (const auto* broken = std::get_if<event::FoldFailed>(&event)) {
    End(now, node, Kind::kFold, broken->fold.value());
    LoseInputs(node, *broken);
  } else if (const auto* pull = std::get_if<event::PullRequested>(&event)) {
    Begin(node, Kind::kPull, pull->pull.value());
  } else if (const auto* ended = std::get_if<event::PullEnded>(&event)) {
    End(now, node, Kind::kPull, ended->pull.value());
  } else if (std::holds_alternative<event::PayloadsFolded>(event)) {
    --payload_folds_[node.node];
  } else if (const auto* got = std::get_if<event::MessageReceived>(&event)) {
    const auto* told = std::get_if<message::Assignment>(&got->message);
    if (told == nullptr) return;
    std::erase_if(lost_[node.node], [&](const Input& input) {
      return std::get<PullKey>(input).object == told->target;
    });
  }
}

void OrderChecker::CheckInputs(absl::Time now, NodeRef node,
                               const command::StartFold& fold) {
  std::set<Input>& inputs = inputs_[{node.node, fold.fold}];
  for (const command::FoldInput& input : fold.inputs) {
    if (input.local) continue;
    const Input taken(PullKey{fold.target, input.position}, input.generation,
                      input.member);
    inputs.insert(taken);
    if (!lost_[node.node].contains(taken)) continue;
    violations_->Add(
        kName, now,
        absl::StrCat(ToString(node.node), " takes the output of position ",
                     input.position, ", which it has lost"));
  }
}

void OrderChecker::LoseInputs(NodeRef node, const event::FoldFailed& failed) {
  const auto found = inputs_.find({node.node, failed.fold});
  if (found == inputs_.end()) return;
  for (const Input& input : found->second) {
    if (std::get<NodeRef>(input) == failed.lost) lost_[node.node].insert(input);
  }
  inputs_.erase(found);
}

void OrderChecker::OnCommand(absl::Time now, NodeRef node,
                             const Command& command) {
  if (const auto* buffer = std::get_if<command::CreateBuffer>(&command)) {
    Begin(node, Kind::kBuffer, buffer->buffer.value());
  } else if (const auto* in = std::get_if<command::StartTransfer>(&command)) {
    Begin(node, Kind::kTransfer, in->transfer.value());
  } else if (const auto* fold = std::get_if<command::StartFold>(&command)) {
    Begin(node, Kind::kFold, fold->fold.value());
    CheckInputs(now, node, *fold);
  } else if (const auto* end = std::get_if<command::CancelFold>(&command)) {
    // Whatever it loses on its way to its end, it takes no more.
    inputs_.erase({node.node, end->fold});
  } else if (std::holds_alternative<command::FoldPayloads>(command)) {
    ++payload_folds_[node.node];
  }
}

void OrderChecker::OnComplaint(absl::Time now, NodeRef node,
                               absl::string_view what) {
  violations_->Add(kName, now, absl::StrCat(ToString(node.node), " ", what));
}

void OrderChecker::OnNodeDown(absl::Time, NodeRef node) {
  std::erase_if(open_, [&](const auto& entry) {
    return std::get<NodeId>(entry.first) == node.node;
  });
  payload_folds_.erase(node.node);
  std::erase_if(inputs_, [&](const auto& entry) {
    return entry.first.first == node.node;
  });
  lost_.erase(node.node);
}

void OrderChecker::OnEnd(absl::Time now) {
  for (const auto& [order, count] : open_) {
    violations_->Add(
        kName, now,
        absl::StrCat(ToString(std::get<NodeId>(order)), ": ",
                     Name(std::get<Kind>(order)), " ",
                     std::get<std::uint64_t>(order), " has not ended"));
  }
  for (const auto& [node, count] : payload_folds_) {
    if (count == 0) continue;
    violations_->Add(kName, now,
                     absl::StrCat(ToString(node), ": FoldPayloads ", count,
                                  " without an answer"));
  }
}

}  // namespace hoplite::sim
