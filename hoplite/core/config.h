// Every limit of the protocol, each with its reason.
//
// Thread safety: values; as safe as int.
// Units: bytes, absl::Duration.

#ifndef HOPLITE_CORE_CONFIG_H_
#define HOPLITE_CORE_CONFIG_H_

#include <cstdint>

#include "absl/time/time.h"
#include "hoplite/core/directory/shard_map.h"

namespace hoplite {

// How receivers are given servers.
enum class Schedule : std::uint8_t {
  kHoplite,
  // What a system without schedules does, to compare with: whoever asks pulls
  // at once from one complete copy drawn at random, however busy it is.
  kPlain,
};

inline constexpr absl::Duration kDeadAfter = absl::Seconds(3);

struct NodeConfig {
  NodeRef self;
  bool is_head = false;
  ClusterId cluster;
  std::uint64_t seed = 1;  // for kPlain's draws only
  Schedule schedule = Schedule::kHoplite;
  std::vector<Member> members;  // living at the start, this node included
  ShardMap shard_map;
  std::uint64_t store_capacity = 0;
  // The head of a cluster that has had one before: its members will say who
  // they are.
  bool returns = false;
  // A member that has not been heard for so long is dead.
  absl::Duration dead_after = kDeadAfter;
};

// A small object's bytes stand in its record, where sending them takes no
// longer than a round trip, and never above this.
inline constexpr std::uint64_t kInlineBytesMax = 64 << 10;
// A frame below this costs more processor than it saves latency.
inline constexpr std::uint64_t kFrameBytesMin = 2 << 10;
// A frame above this leaves the cache before it is forwarded.
inline constexpr std::uint64_t kFrameBytesMax = 1 << 20;
// What one frame costs a node in processor, beside its bytes.
inline constexpr absl::Duration kFrameCost = absl::Microseconds(20);
// Until the first measurement.
inline constexpr double kBandwidthUntilMeasured = 1e9 / 8;
inline constexpr absl::Duration kLatencyUntilMeasured = absl::Microseconds(100);
// A receiver is not given again the server that failed it, while another may
// come; after this long that one is better than none.
inline constexpr absl::Duration kLostServerAvoided = absl::Seconds(1);
// A shard that is made anew asks those who have not reported this often: they
// may not have heard yet that it has moved.
inline constexpr absl::Duration kHoldingsRetry = absl::Milliseconds(250);
// Entries of one message of Holdings: a batch of messages is bounded.
inline constexpr std::size_t kHoldingsPerMessage = 512;
// Whatever waits for another node's answer is asked again this often, should
// all else have failed.
inline constexpr absl::Duration kResync = absl::Seconds(10);
// Targets that a node has let go of, and so never serves again.
inline constexpr std::size_t kEndedTargetsMax = 1024;
// Who waits for room tries again this often, beside whenever memory comes back:
// nobody says when a pin ends, or when a last copy is the last no more.
inline constexpr absl::Duration kRoomRetry = absl::Milliseconds(250);
// Sources of one reduction: its request fits in one message.
inline constexpr std::uint32_t kReduceSourcesMax = 16384;
// A head that was started at the address of an earlier one becomes that one's
// successor so long; afterwards its own cluster counts.
inline constexpr absl::Duration kSucceedsWithin = absl::Seconds(30);
// Members that were declared dead, of which a head that comes back is told.
inline constexpr std::size_t kLostMembersKept = 1024;
// A deleted id answers kNotFound for this long, or until so many newer ones.
inline constexpr absl::Duration kTombstoneAge = absl::Minutes(10);
inline constexpr std::size_t kTombstonesMax = 4096;
// Prefixes of ids that have ended stand as long as tombstones, and so many.
inline constexpr std::size_t kEndedPrefixesMax = 4096;
// Payloads that a node's shards keep; beyond it the oldest that have another
// copy become ordinary objects.
inline constexpr std::uint64_t kInlineBytesKept = 16 << 20;

}  // namespace hoplite

#endif  // HOPLITE_CORE_CONFIG_H_
