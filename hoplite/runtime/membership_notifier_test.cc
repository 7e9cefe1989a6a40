#include "hoplite/runtime/membership_notifier.h"

#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "hoplite/base/mutex.h"

namespace hoplite {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

NodeRef Ref(std::uint32_t node, std::uint64_t incarnation) {
  return {.node = NodeId(node), .incarnation = Incarnation(incarnation)};
}
Member MemberAt(std::uint32_t node, std::uint64_t incarnation) {
  return {.ref = Ref(node, incarnation),
          .control_address = "host:1",
          .data_address = "host:2"};
}

// What it was told, a line for each call.
class Listener final : public MembershipObserver {
 public:
  void OnLifeBegan(const Member& self) override { Add("began", self.ref); }
  void OnMemberJoined(const Member& member) override {
    Add("joined", member.ref);
  }
  void OnMemberLost(NodeRef member) override { Add("lost", member); }
  void OnLifeEnded(absl::string_view why) override {
    MutexLock lock(mutex_);
    lines_.push_back(absl::StrCat("ended ", why));
    changed_.NotifyAll();
  }

  std::vector<std::string> Await(std::size_t count) {
    MutexLock lock(mutex_);
    while (lines_.size() < count) changed_.Wait(mutex_);
    return lines_;
  }
  std::vector<std::string> lines() {
    MutexLock lock(mutex_);
    return lines_;
  }

 private:
  void Add(absl::string_view what, NodeRef ref) {
    MutexLock lock(mutex_);
    lines_.push_back(absl::StrCat(what, " ", ref.node.value(), ".",
                                  ref.incarnation.value()));
    changed_.NotifyAll();
  }

  Mutex mutex_;
  CondVar changed_;
  std::vector<std::string> lines_ ABSL_GUARDED_BY(mutex_);
};

TEST(MembershipNotifierTest, WhatIsSaidIsToldOnceAndInOrder) {
  Listener listener;
  MembershipNotifier notifier(&listener);
  notifier.BeginLife(MemberAt(2, 5));
  notifier.Learn(MemberAt(1, 1));
  notifier.Learn(MemberAt(1, 1));
  notifier.Learn(MemberAt(2, 5));  // the node itself
  notifier.Forget(Ref(3, 3));      // never heard of
  notifier.Forget(Ref(1, 1));
  notifier.Forget(Ref(1, 1));
  notifier.Learn(MemberAt(1, 9));
  notifier.Learn(MemberAt(1, 10));
  EXPECT_THAT(listener.Await(6),
              ElementsAre("began 2.5", "joined 1.1", "lost 1.1", "joined 1.9",
                          "lost 1.9", "joined 1.10"));
}

TEST(MembershipNotifierTest, ALifeKnowsNothingOfTheOneBefore) {
  Listener listener;
  MembershipNotifier notifier(&listener);
  notifier.BeginLife(MemberAt(2, 5));
  notifier.Learn(MemberAt(1, 1));
  notifier.EndLife("declared dead");
  notifier.EndLife("again");
  notifier.Forget(Ref(1, 1));      // late: its life is over
  notifier.Learn(MemberAt(3, 3));  // likewise
  notifier.BeginLife(MemberAt(4, 6));
  notifier.Learn(MemberAt(1, 1));
  EXPECT_THAT(listener.Await(5),
              ElementsAre("began 2.5", "joined 1.1", "ended declared dead",
                          "began 4.6", "joined 1.1"));
}

TEST(MembershipNotifierTest, NothingIsToldAfterStop) {
  Listener listener;
  MembershipNotifier notifier(&listener);
  notifier.Stop();
  notifier.BeginLife(MemberAt(2, 5));
  EXPECT_THAT(listener.lines(), IsEmpty());
}

TEST(MembershipNotifierTest, AHostIsWhatStandsBeforeThePort) {
  EXPECT_EQ(HostOf("node-3:7000"), "node-3");
  EXPECT_EQ(HostOf("[fe80::1%eth0]:7000"), "fe80::1%eth0");
  EXPECT_EQ(HostOf(MemberAt(1, 1)), "host");
  EXPECT_EQ(HostOf(""), "");
}

}  // namespace
}  // namespace hoplite
