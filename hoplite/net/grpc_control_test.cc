#include "hoplite/net/grpc_control.h"

#include <deque>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "hoplite/base/mutex.h"

namespace hoplite {
namespace {

// Collects what a transport brings.
class Inbox {
 public:
  ControlTransport::EventSink sink() {
    return [this](Event event) {
      MutexLock lock(mutex_);
      events_.push_back(std::move(event));
      arrived_.NotifyAll();
    };
  }
  template <typename T>
  T Next() {
    MutexLock lock(mutex_);
    for (;;) {
      for (auto one = events_.begin(); one != events_.end(); ++one) {
        if (!std::holds_alternative<T>(*one)) continue;
        T event = std::get<T>(std::move(*one));
        events_.erase(one);
        return event;
      }
      arrived_.Wait(mutex_);
    }
  }

 private:
  Mutex mutex_;
  CondVar arrived_;
  std::deque<Event> events_;
};

TEST(GrpcControlTest, TwoNodesJoinAndTalk) {
  auto head = GrpcControl::Listen({.listen = "127.0.0.1:0", .advertise = ""});
  auto node = GrpcControl::Listen({.listen = "127.0.0.1:0", .advertise = ""});
  ASSERT_TRUE(head.ok()) << head.status();
  ASSERT_TRUE(node.ok()) << node.status();
  const ClusterId cluster(77);
  const Member first{.ref = {NodeId(1), Incarnation(1)},
                     .control_address = (*head)->address(),
                     .data_address = "127.0.0.1:1"};
  Inbox head_inbox;
  (*head)->Start(
      cluster, first.ref, [&, sink = head_inbox.sink()](Event event) {
        if (auto* join = std::get_if<event::JoinRequested>(&event)) {
          Welcome welcome{
              .cluster = cluster, .self = {}, .members = {}, .shard_map = {}};
          welcome.self = {.ref = {NodeId(2), Incarnation(2)},
                          .control_address = join->control_address,
                          .data_address = join->data_address};
          welcome.members = {first, welcome.self};
          (*head)->Admit(join->token, welcome);
        }
        sink(std::move(event));
      });
  auto welcome = (*node)->Join((*head)->address(), "127.0.0.1:2",
                               absl::Now() + absl::Seconds(10));
  ASSERT_TRUE(welcome.ok()) << welcome.status();
  Inbox node_inbox;
  (*node)->Start(welcome->cluster, welcome->self.ref, node_inbox.sink());
  for (const Member& member : welcome->members) (*node)->Learn(member);
  const message::Release ping{.target = ObjectId()};
  (*node)->Send(first.ref, ping);
  auto heard = head_inbox.Next<event::MessageReceived>();
  EXPECT_EQ(heard.from, welcome->self.ref);
  EXPECT_EQ(heard.message, Message(ping));
  (*head)->Send(welcome->self.ref, message::Leave{});
  EXPECT_EQ(node_inbox.Next<event::MessageReceived>().message,
            Message(message::Leave{}));
  EXPECT_GT(head_inbox.Next<event::LatencyMeasured>().latency,
            absl::ZeroDuration());
  (*node)->Shutdown();
  EXPECT_EQ(head_inbox.Next<event::PeerLost>().peer, welcome->self.ref);
}

}  // namespace
}  // namespace hoplite
