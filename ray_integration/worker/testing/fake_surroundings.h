// Surroundings for tests: keeps what a process's parts send, in virtual time.
//
// Messages wait until the test takes them, by their kind; a test that has
// taken all that it expects says so with AllTaken().
//
// Thread safety: none; one thread at a time.

#ifndef HOPLITE_RAY_INTEGRATION_WORKER_TESTING_FAKE_SURROUNDINGS_H_
#define HOPLITE_RAY_INTEGRATION_WORKER_TESTING_FAKE_SURROUNDINGS_H_

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/time/time.h"
#include "hoplite/base/id.h"
#include "ray_integration/base/process_id.h"
#include "ray_integration/wire/message.h"
#include "ray_integration/wire/values.h"
#include "ray_integration/worker/surroundings.h"

namespace hoplite::task {

// A process and a node, other than those of the test where numbers are not 1.
Endpoint TestProcessAt(std::uint32_t worker, std::uint32_t node = 1);
NodeInfo TestNodeInfo(std::uint32_t node = 1);
// The counter-th object of that process.
ObjectId TestObject(const Endpoint& owner, std::uint64_t counter);
ReferenceInfo InfoOf(const Endpoint& owner, const ObjectId& id);

class FakeSurroundings final : public Surroundings {
 public:
  const Endpoint& self() const override { return self_; }
  NodeInfo home() const override { return TestNodeInfo(); }
  absl::Time Now() const override { return now_; }
  void Send(const Endpoint& to, const Message& message) override;
  void SendAgent(const NodeInfo& node, const Message& message) override;
  void Changed() override { ++changes_; }
  void Later(std::function<void()> work) override;
  void WakeAt(absl::Time when) override;
  void PutIntoStore(const ObjectId& id, const ValuePtr& value) override;
  void LookInStore(const ObjectId& id) override { looked_.push_back(id); }
  void DeleteFromStore(const ObjectId& id) override;
  void ActorUnreferenced(const ObjectId& actor) override;

  // What has been sent to processes, and to agents; taken out.
  template <typename M>
  std::vector<std::pair<Endpoint, M>> Take() {
    return TakeFrom<M>(sent_);
  }
  template <typename M>
  std::vector<std::pair<NodeInfo, M>> TakeOfAgents() {
    return TakeFrom<M>(sent_to_agents_);
  }
  // "" where every message has been taken; else what is left.
  std::string AllTaken() const;
  std::vector<ObjectId> TakeDeleted() { return std::exchange(deleted_, {}); }
  std::vector<ObjectId> TakeLooked() { return std::exchange(looked_, {}); }
  std::vector<std::pair<ObjectId, ValuePtr>> TakePut() {
    return std::exchange(put_, {});
  }
  std::vector<ObjectId> TakeUnreferenced() {
    return std::exchange(unreferenced_, {});
  }
  // In place of keeping them.
  void OnUnreferenced(std::function<void(const ObjectId& actor)> call) {
    on_unreferenced_ = std::move(call);
  }
  int changes() const { return changes_; }

  void RunLater();
  // As a process does it: of all WakeAt since the last one only the earliest
  // is kept.
  void Pass(absl::Duration time, absl::FunctionRef<void()> on_timer);

 private:
  template <typename M, typename To>
  static std::vector<std::pair<To, M>> TakeFrom(
      std::vector<std::pair<To, Message>>& from) {
    std::vector<std::pair<To, M>> taken;
    std::vector<std::pair<To, Message>> left;
    for (auto& [to, message] : from) {
      if (auto* const one = std::get_if<M>(&message)) {
        taken.emplace_back(to, std::move(*one));
      } else {
        left.emplace_back(to, std::move(message));
      }
    }
    from = std::move(left);
    return taken;
  }

  const Endpoint self_ = TestProcessAt(1);
  absl::Time now_ = absl::FromUnixSeconds(1'000'000);
  absl::Time wake_ = absl::InfiniteFuture();
  std::vector<std::pair<Endpoint, Message>> sent_;
  std::vector<std::pair<NodeInfo, Message>> sent_to_agents_;
  std::vector<ObjectId> looked_;
  std::vector<ObjectId> deleted_;
  std::vector<std::pair<ObjectId, ValuePtr>> put_;
  std::vector<ObjectId> unreferenced_;
  std::vector<std::function<void()>> later_;
  std::function<void(const ObjectId& actor)> on_unreferenced_;
  int changes_ = 0;
};

}  // namespace hoplite::task

#endif  // HOPLITE_RAY_INTEGRATION_WORKER_TESTING_FAKE_SURROUNDINGS_H_
