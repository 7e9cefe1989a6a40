// FuzzedDriver drives one Node as a fuzzer's bytes say: an honest driver among
// peers who lie.
//
// What the driver itself promises (event.h) it keeps: a new number for each
// request and pull, one end for each order, its own messages back in order.
// What peers say is drawn: any message from anybody, pulls, views, heads. Each
// command is checked against what the executor requires of it, and after each
// step the node's invariants have to hold.
//
// Thread safety: none; one thread at a time.

#ifndef HOPLITE_TESTS_FUZZ_FUZZED_DRIVER_H_
#define HOPLITE_TESTS_FUZZ_FUZZED_DRIVER_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <set>

#include "absl/time/time.h"
#include "hoplite/core/command.h"
#include "hoplite/core/config.h"
#include "hoplite/core/event.h"
#include "hoplite/core/node.h"
#include "tests/fuzz/field_drawer.h"
#include "tests/fuzz/fuzz_input.h"

namespace hoplite::fuzz {

class FuzzedDriver {
 public:
  // The first bytes say what the node is, and which shards it hosts.
  explicit FuzzedDriver(FuzzInput& input);

  // Steps until the input or the node's life has ended. Stops the program
  // where the node does what it may not.
  void Run();

 private:
  void Step();
  void ClientSpeaks();
  void PeerSpeaks();
  void PeerPulls();
  void MembershipChanges();
  void StoreAnswers();
  void OrderEnds();
  void TimePasses();

  void Handle(const Event& event);
  // Checks what was ordered, and takes it up.
  void TakeCommands();
  void Do(const command::Send& send);
  void Do(const command::EndLife& end);
  void Do(const command::CreateBuffer& create);
  void Do(const command::ReleaseBuffer& release);
  void Do(const command::StartTransfer& start);
  void Do(const command::ServePull& serve);
  void Do(const command::RefusePull& refuse);
  void Do(const command::StartFold& start);
  void Do(const command::FoldPayloads& fold);
  void Do(const command::HandBuffer& hand);
  void Do(const command::AnswerRequest& answer);
  template <typename Other>
  void Do(const Other&) {}
  // REQUIRES: the machine has created it, and not released it.
  std::uint64_t SizeOf(BufferId buffer) const;

  // One of them, as the input says; taken out. REQUIRES: there is one.
  template <typename Container>
  auto TakeOne(Container& container) {
    auto it = container.begin();
    std::advance(it, input_.Below(container.size()));
    auto taken = *it;
    container.erase(it);
    return taken;
  }
  template <typename T>
  T Drawn() {
    T value;
    FieldDrawer drawer(input_, now_);
    drawer(value);
    return value;
  }

  FuzzInput& input_;
  const NodeConfig config_;
  absl::Time now_;
  Node node_;
  Commands commands_;
  bool ended_ = false;

  // What is under way.
  std::deque<Message> to_self_;
  std::map<BufferId, std::uint64_t> ordered_;  // buffers and their sizes
  std::map<BufferId, std::uint64_t> buffers_;
  std::set<TransferId> transfers_;
  std::set<FoldId> folds_;
  std::set<PullId> pulls_;   // not served
  std::set<PullId> ending_;  // served or refused: they end, some time
  std::deque<event::PayloadsFolded> folded_;
  std::set<RequestId> requests_;
  std::set<RequestId> gets_;  // some of them
  std::uint64_t last_request_ = 0;
  std::uint64_t last_pull_ = 0;
};

}  // namespace hoplite::fuzz

#endif  // HOPLITE_TESTS_FUZZ_FUZZED_DRIVER_H_
