#include "ray_integration/worker/testing/fake_surroundings.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "hoplite/base/check.h"

namespace hoplite::task {

Endpoint TestProcessAt(std::uint32_t worker, std::uint32_t node) {
  return {.process = {.node = TestNodeInfo(node).node,
                      .worker = WorkerNumber(worker)},
          .address = absl::StrCat("host", node, ":", worker)};
}

NodeInfo TestNodeInfo(std::uint32_t node) {
  return {.node = {NodeId(node), Incarnation(node + 100)},
          .host = absl::StrCat("host", node),
          .agent_address = absl::StrCat("host", node, ":1")};
}

ObjectId TestObject(const Endpoint& owner, std::uint64_t counter) {
  return MakeObjectId(owner.process, counter);
}

ReferenceInfo InfoOf(const Endpoint& owner, const ObjectId& id) {
  return {.id = id, .owner_address = owner.address};
}

void FakeSurroundings::Send(const Endpoint& to, const Message& message) {
  sent_.emplace_back(to, message);
}

void FakeSurroundings::SendAgent(const NodeInfo& node, const Message& message) {
  sent_to_agents_.emplace_back(node, message);
}

void FakeSurroundings::Later(std::function<void()> work) {
  later_.push_back(std::move(work));
}

void FakeSurroundings::WakeAt(absl::Time when) {
  wake_ = std::min(wake_, when);
}

void FakeSurroundings::PutIntoStore(const ObjectId& id, const ValuePtr& value) {
  put_.emplace_back(id, value);
}

void FakeSurroundings::DeleteFromStore(const ObjectId& id) {
  deleted_.push_back(id);
}

void FakeSurroundings::ActorUnreferenced(const ObjectId& actor) {
  if (on_unreferenced_ != nullptr) {
    on_unreferenced_(actor);
  } else {
    unreferenced_.push_back(actor);
  }
}

std::string FakeSurroundings::AllTaken() const {
  std::string left;
  for (const auto& [to, message] : sent_) {
    absl::StrAppend(&left, "kind ", message.index(), " to ",
                    ToString(to.process), "; ");
  }
  for (const auto& [to, message] : sent_to_agents_) {
    absl::StrAppend(&left, "kind ", message.index(), " to the agent of ",
                    to.host, "; ");
  }
  return left;
}

void FakeSurroundings::RunLater() {
  while (!later_.empty()) {
    for (const auto& work : std::exchange(later_, {})) work();
  }
}

void FakeSurroundings::Pass(absl::Duration time,
                            absl::FunctionRef<void()> on_timer) {
  // A part that wakes itself again and again at one time never ends.
  constexpr int kWakesMax = 100'000;
  const absl::Time end = now_ + time;
  for (int wakes = 0; wake_ <= end; ++wakes) {
    HOPLITE_CHECK(wakes < kWakesMax);
    now_ = std::max(now_, std::exchange(wake_, absl::InfiniteFuture()));
    on_timer();
  }
  now_ = end;
}

}  // namespace hoplite::task
