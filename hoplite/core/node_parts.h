// The inside of a Node: its machines, and how events and messages reach them.
//
// Private to node.cc, node_members.cc and node_messages.cc.
//
// Thread safety: none; one thread at a time.

#ifndef HOPLITE_CORE_NODE_PARTS_H_
#define HOPLITE_CORE_NODE_PARTS_H_

#include <deque>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/btree_map.h"
#include "hoplite/core/directory/object_directory.h"
#include "hoplite/core/local/local_objects.h"
#include "hoplite/core/local/local_puts.h"
#include "hoplite/core/membership/head.h"
#include "hoplite/core/node.h"
#include "hoplite/core/reduce/reduce_member.h"

namespace hoplite {

struct Node::Parts {
  explicit Parts(NodeConfig given);

  NodeContext Context(absl::Time now, Commands& out) {
    return {.now = now,
            .self = config.self,
            .shard_map = shard_map,
            .buffers = buffers,
            .requests = requests,
            .out = out};
  }

  void On(NodeContext& context, const event::PutRequested& put);
  void On(NodeContext& context, const event::PutFilled& filled);
  void On(NodeContext& context, const event::GetRequested& get);
  void On(NodeContext& context, const event::DeleteRequested& request);
  void On(NodeContext& context, const event::ReduceRequested& request);
  void On(NodeContext& context, const event::RequestCancelled& cancelled);
  void On(NodeContext& context, const event::MessageReceived& received);
  void On(NodeContext& context, const event::PeerLost& lost);
  void On(NodeContext& context, const event::PeerReturned& returned);
  void On(NodeContext& context, const event::PeerDied& died);
  void On(NodeContext& context, const event::JoinRequested& join);
  void On(NodeContext& context, const event::ReturnRequested& request);
  void On(NodeContext& context, const event::HeadFound& found);
  void On(NodeContext& context, const event::Fenced& fenced);
  void On(NodeContext& context, const event::LatencyMeasured& measured);
  void On(NodeContext& context, const event::BandwidthMeasured& measured);
  void On(NodeContext& context, const event::BufferCreated& created);
  void On(NodeContext& context, const event::BufferRefused& refused);
  void On(NodeContext& context, const event::RoomFreed& freed);
  void On(NodeContext& context, const event::PullRequested& pull);
  void On(NodeContext& context, const event::PullEnded& ended);
  void On(NodeContext& context, const event::TransferDone& done);
  void On(NodeContext& context, const event::TransferFailed& failed);
  void On(NodeContext& context, const event::FoldDone& done);
  void On(NodeContext& context, const event::FoldFailed& failed);
  void On(NodeContext& context, const event::PayloadsFolded& folded);
  void On(NodeContext& context, const event::PrefixEnded& ended);

  // A message of any kind, and each kind; those for a shard's host go to its
  // directory.
  void On(NodeContext& context, NodeRef from, const Message& message);
  void Hear(NodeContext& context, NodeRef from,
            const message::MemberJoined& body);
  void Hear(NodeContext& context, NodeRef from,
            const message::MemberLost& body);
  void Hear(NodeContext& context, NodeRef from, const message::Leave& body);
  void Hear(NodeContext& context, NodeRef from, const message::MapUpdate& body);
  void Hear(NodeContext& context, NodeRef from,
            const message::StaleEpoch& body);
  void Hear(NodeContext& context, NodeRef from,
            const message::CloseShards& body);
  void Hear(NodeContext& context, NodeRef from,
            const message::ShardsClosed& body);
  void Hear(NodeContext& context, NodeRef from,
            const message::HoldingsAsk& body);
  void Hear(NodeContext& context, NodeRef from, const message::Grant& body);
  void Hear(NodeContext& context, NodeRef from,
            const message::GrantInline& body);
  void Hear(NodeContext& context, NodeRef from, const message::Refusal& body);
  void Hear(NodeContext& context, NodeRef from, const message::PutAnswer& body);
  void Hear(NodeContext& context, NodeRef from,
            const message::DeleteAnswer& body);
  void Hear(NodeContext& context, NodeRef from, const message::Drop& body);
  void Hear(NodeContext& context, NodeRef from,
            const message::EvictAnswer& body);
  void Hear(NodeContext& context, NodeRef from, const message::Final& body);
  void Hear(NodeContext& context, NodeRef from,
            const message::ReduceAnswer& body);
  void Hear(NodeContext& context, NodeRef from, const message::EvictAsk& body);
  void Hear(NodeContext& context, NodeRef from,
            const message::WatchSources& body);
  void Hear(NodeContext& context, NodeRef from,
            const message::UnwatchSources& body);
  void Hear(NodeContext& context, NodeRef from,
            const message::SourceNews& body);
  void Hear(NodeContext& context, NodeRef from,
            const message::Assignment& body);
  void Hear(NodeContext& context, NodeRef from, const message::Release& body);
  template <typename Body>
  void Hear(NodeContext& context, NodeRef from, const Body& body);
  void Apply(NodeContext& context,
             const std::vector<ShardAssignment>& assignments);
  std::vector<NodeRef> LivingMembers() const;
  // The head that this node follows, or none.
  NodeRef Leader() const;
  // True where an order comes from the head, or a later one; what an earlier
  // head still says counts for nothing.
  bool IsOrder(NodeRef from) const;
  void SeekHead(NodeContext& context);
  void Join(NodeContext& context, const Member& member);
  void Lose(NodeContext& context, NodeRef member);

  // A message for a shard: true where it is hosted here under that epoch;
  // else the sender is told, or the message kept until the map comes.
  enum class Route { kHere, kStale, kLater };
  Route RouteOf(const ShardRef& at) const;
  bool IsHere(NodeContext& context, NodeRef from, const ShardRef& at,
              const Message& message);
  // What waits for an answer of these shards' hosts is asked again.
  void Resend(NodeContext& context, const ShardSet& shards);
  // Tells these shards' hosts all that this node has of them.
  void Report(NodeContext& context, const ShardSet& shards);
  // Now and then, should both a message and the news of its loss be lost.
  void Resync(NodeContext& context);
  void ScheduleResync(absl::Time now);

  // True for a client's call of this kind about the object: else an answer
  // is late, or nobody's.
  bool Asked(RequestKind kind, RequestId id, const ObjectId& object) const;
  void EndRequest(NodeContext& context, RequestId id, absl::StatusCode code,
                  std::string detail);
  // Whoever waits for room is to try again.
  void OfferRoom(NodeContext& context);
  void TryAgain(NodeContext& context, const BufferOwner& owner);
  // Now and then, with every copy offered for eviction anew: a reader's pin
  // may have ended, or another copy become complete, and nobody has said so.
  void RetryRoom(NodeContext& context);
  void ScheduleRoomRetry(absl::Time now);
  void UpdateLink();

  const NodeConfig config;
  ShardMap shard_map;
  absl::btree_map<NodeId, Member> members;
  BufferTable buffers;
  RequestTable requests;
  LocalObjects objects;
  LocalPuts puts;
  ReduceMember member;
  ObjectDirectory directory;
  std::optional<Head> head;
  bool head_away = false;
  // Members of which the head that is sought has been told, whichever of the
  // questions it answers.
  std::set<NodeRef> told_of;
  // Declared dead, oldest first; no such incarnation comes back.
  std::deque<NodeRef> lost;
  // Reductions that clients of this node wait for.
  absl::btree_map<RequestId, message::ReduceAsk> reduces;
  // Messages that name an epoch not heard of yet.
  std::vector<std::pair<NodeRef, Message>> kept;
  absl::Time room_retry = absl::InfiniteFuture();
  absl::Time resync = absl::InfiniteFuture();
  std::optional<absl::Duration> latency;
  std::optional<double> bytes_per_second;
  absl::Time last = absl::InfinitePast();
};

}  // namespace hoplite

#endif  // HOPLITE_CORE_NODE_PARTS_H_
