// What tests of control transports share: an inbox that waits, nodes that
// have joined.
//
// Thread safety: Inbox is thread-safe; a TestNode has none but its inbox.

#ifndef HOPLITE_NET_CONTROL_TRANSPORT_TESTING_H_
#define HOPLITE_NET_CONTROL_TRANSPORT_TESTING_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "absl/base/thread_annotations.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "hoplite/base/mutex.h"
#include "hoplite/net/control_transport.h"

namespace hoplite {

// By then a test has failed.
// tidy-allow(clock): a test's own patience
inline absl::Time TestDeadline() { return absl::Now() + absl::Seconds(30); }

// Keeps what a transport brings until a test asks for it.
class Inbox {
 public:
  void Add(Event event) {
    MutexLock lock(mutex_);
    events_.push_back(std::move(event));
    arrived_.NotifyAll();
  }

  // The oldest event of this type, waiting for it; a failure and a default
  // one where none comes.
  template <typename T>
  T Next() {
    const absl::Time deadline = TestDeadline();
    MutexLock lock(mutex_);
    for (;;) {
      if (std::optional<T> event = Take<T>()) return *std::move(event);
      if (arrived_.WaitUntil(mutex_, deadline)) continue;
      ADD_FAILURE() << "an event did not come in time";
      return T();
    }
  }
  // The next message, of whatever sender.
  Message NextMessage() { return Next<event::MessageReceived>().message; }
  // True where such an event is there now.
  template <typename T>
  bool Has() {
    MutexLock lock(mutex_);
    for (const Event& event : events_) {
      if (std::holds_alternative<T>(event)) return true;
    }
    return false;
  }

 private:
  template <typename T>
  std::optional<T> Take() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    for (auto one = events_.begin(); one != events_.end(); ++one) {
      if (!std::holds_alternative<T>(*one)) continue;
      T event = std::get<T>(std::move(*one));
      events_.erase(one);
      return event;
    }
    return std::nullopt;
  }

  Mutex mutex_;
  CondVar arrived_;
  std::deque<Event> events_ ABSL_GUARDED_BY(mutex_);
};

// Messages that tests tell apart by a number.
inline Message Numbered(std::uint64_t number) {
  return message::DeleteAnswer{.object = ObjectId(),
                               .request = RequestId(number),
                               .code = absl::StatusCode::kOk};
}
inline std::uint64_t NumberOf(const Message& message) {
  const auto* numbered = std::get_if<message::DeleteAnswer>(&message);
  return numbered == nullptr ? 0 : numbered->request.value();
}

inline NodeRef Node(std::uint32_t node, std::uint64_t incarnation) {
  return {.node = NodeId(node), .incarnation = Incarnation(incarnation)};
}

// A transport that has been started, and what it hears.
struct TestNode {
  // Outlives the transport that fills it.
  std::unique_ptr<Inbox> inbox = std::make_unique<Inbox>();
  std::unique_ptr<ControlTransport> transport = nullptr;
  Member member = {};

  NodeRef ref() const { return member.ref; }
  ControlTransport* operator->() const { return transport.get(); }
};

// Starts `transport` as this node.
inline TestNode StartNode(std::unique_ptr<ControlTransport> transport,
                          ClusterId cluster, NodeRef self) {
  TestNode node;
  node.transport = std::move(transport);
  node.member = {.ref = self,
                 .control_address = node.transport->address(),
                 .data_address = "127.0.0.1:1"};
  node.transport->Start(cluster, self, [inbox = node.inbox.get()](Event event) {
    inbox->Add(std::move(event));
  });
  return node;
}

// Admits the next caller of `head` as this node; the welcome that it got.
inline Welcome AdmitNext(TestNode& head, ClusterId cluster, NodeRef as) {
  const auto request = head.inbox->Next<event::JoinRequested>();
  Welcome welcome;
  welcome.cluster = cluster;
  welcome.self = {.ref = as,
                  .control_address = request.control_address,
                  .data_address = request.data_address,
                  .agent_address = request.agent_address};
  welcome.members = {head.member, welcome.self};
  welcome.shard_map.Apply(
      {.at = {.shard = ShardId(7), .epoch = Epoch(3)}, .host = as});
  head->Admit(request.token, welcome);
  return welcome;
}

}  // namespace hoplite

#endif  // HOPLITE_NET_CONTROL_TRANSPORT_TESTING_H_
