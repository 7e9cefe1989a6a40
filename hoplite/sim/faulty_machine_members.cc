// Mistakes of heads and of members.

#include <algorithm>
#include <cstddef>
#include <variant>

#include "hoplite/sim/faulty_machine.h"

namespace hoplite::sim {
namespace {

template <typename Body>
Body* FindSent(Command& command) {
  auto* send = std::get_if<command::Send>(&command);
  return send == nullptr ? nullptr : std::get_if<Body>(&send->message);
}

// The same in what the member is told of itself and of all.
void Rename(command::Admit& admit, NodeRef name) {
  const NodeRef old = admit.member.ref;
  for (Member& member : admit.members) {
    if (member.ref == old) member.ref = name;
  }
  admit.member.ref = name;
}

}  // namespace

void FaultyMachine::SpoilFinal(Commands& out) {
  if (!Is(Mistake::kChangeFinal)) return;
  for (Command& command : out) {
    const auto* last = FindSent<message::Final>(command);
    if (last == nullptr || !last->generation.is_target()) continue;
    plant_->made = true;
    message::Final other = *last;
    ++other.generation.counter;
    out.push_back(
        command::Send{std::get<command::Send>(command).to, std::move(other)});
    return;
  }
}

void FaultyMachine::DropIfSuspected(const Event& event, Commands& out) {
  const auto* lost = std::get_if<event::PeerLost>(&event);
  if (!Is(Mistake::kDropOnSuspicion) || lost == nullptr) return;
  plant_->made = true;
  out.push_back(command::ForgetMember{lost->peer});
}

void FaultyMachine::SpoilMembers(Commands& out) {
  const auto spoils = [this](Mistake mistake) {
    if (!Is(mistake)) return false;
    plant_->made = true;
    return true;
  };
  // Whenever it is told so.
  const auto lives_on = [this] {
    if (plant_->mistake != Mistake::kLiveOn) return false;
    plant_->made = true;
    return true;
  };
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (auto* admit = std::get_if<command::Admit>(&out[i])) {
      const NodeRef ref = admit->member.ref;
      if (spoils(Mistake::kAdmitAsAnother)) {
        Rename(*admit, {NodeId(ref.node.value() - 1), ref.incarnation});
      } else if (spoils(Mistake::kAdmitInOldLife)) {
        Rename(*admit, {ref.node, Incarnation(ref.incarnation.value() - 1)});
      }
      continue;
    }
    const bool drops =
        (FindSent<message::MemberJoined>(out[i]) != nullptr &&
         spoils(Mistake::kMissMember)) ||
        (std::holds_alternative<command::ForgetMember>(out[i]) &&
         spoils(Mistake::kKeepTheDead)) ||
        (std::holds_alternative<command::EndLife>(out[i]) && lives_on());
    if (!drops) continue;
    out.erase(out.begin() + static_cast<std::ptrdiff_t>(i));
    return;
  }
}

}  // namespace hoplite::sim
