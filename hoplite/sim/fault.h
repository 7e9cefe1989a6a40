// What can go wrong in a run, and when.
//
// (Clients that cancel or run out of time are the workload's.)
//
// Thread safety: values; as safe as int.

#ifndef HOPLITE_SIM_FAULT_H_
#define HOPLITE_SIM_FAULT_H_

#include <cstdint>
#include <variant>
#include <vector>

#include "absl/time/time.h"
#include "hoplite/base/id.h"

namespace hoplite::sim {

namespace fault {

// One of the streams of bytes that are under way breaks at both ends.
struct BrokenStream {
  absl::Time time;
  std::uint64_t which = 0;  // modulo as many as there are
};
// From the start, a node's links are so many times slower.
struct SlowNode {
  NodeId node;
  std::uint64_t times = 1;
};
// A node dies; the head hears of it so much later than of others.
struct Crash {
  absl::Time time;
  NodeId node;
  absl::Duration detected;
};
// A node dies while it carries out what one of its events has brought, unless
// it has not come to that by `until`.
struct CrashAtEvent {
  absl::Time until;
  NodeId node;
  std::uint64_t event = 1;     // the first is 1
  std::uint64_t commands = 0;  // of that event, which are carried out
  absl::Duration detected;
};
// A node dies, and its process is started again.
struct Restart {
  absl::Time time;
  NodeId node;
  absl::Duration detected;
  absl::Duration away;
};
// The control streams of two nodes break, with all that is on them, and stand
// again so much later. `b` finds out later than `a`, and what it says until
// then is lost, too.
struct BrokenControl {
  absl::Time time;
  NodeId a;
  NodeId b;
  absl::Duration outage;
  absl::Duration noticed;
};
// From `time` on, what the head says to a node comes at `until` only.
struct LateNews {
  absl::Time time;
  NodeId node;
  absl::Time until;
};
// The head is killed, and started again.
struct HeadCrash {
  absl::Time time;
  absl::Duration away;
};
struct StoppedNode {
  absl::Time time;
  NodeId node;
  absl::Duration duration;
};
// One way only.
struct CutWay {
  absl::Time time;
  NodeId from;
  NodeId to;
  absl::Duration duration;
};
// The head takes a living node for dead.
struct Suspicion {
  absl::Time time;
  NodeId node;
};

// Whoever made one of the objects that nodes have to do with is gone: all nodes
// hear that the prefix of its id has ended.
struct EndedPrefix {
  absl::Time time;
  std::uint64_t which = 0;  // modulo as many objects as there are
};

}  // namespace fault

using Fault =
    std::variant<fault::BrokenStream, fault::SlowNode, fault::Crash,
                 fault::CrashAtEvent, fault::Restart, fault::BrokenControl,
                 fault::LateNews, fault::HeadCrash, fault::StoppedNode,
                 fault::CutWay, fault::Suspicion, fault::EndedPrefix>;
using FaultPlan = std::vector<Fault>;

}  // namespace hoplite::sim

#endif  // HOPLITE_SIM_FAULT_H_
