#include "hoplite/core/node.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/strings/str_cat.h"
#include "hoplite/base/check.h"
#include "hoplite/base/overloaded.h"
#include "hoplite/core/directory/object_directory.h"
#include "hoplite/core/local/local_objects.h"
#include "hoplite/core/local/local_puts.h"
#include "hoplite/core/membership/head.h"
#include "hoplite/core/node_parts.h"
#include "hoplite/core/reduce/reduce_member.h"

namespace hoplite {

Node::Parts::Parts(NodeConfig given)
    : config(std::move(given)),
      shard_map(config.shard_map),
      puts(objects),
      member(objects),
      directory(config, shard_map) {
  for (const Member& known : config.members) members[known.ref.node] = known;
  for (const ShardAssignment& shard : shard_map.assignments()) {
    if (shard.host == config.self) directory.Open(shard.at);
  }
  if (config.is_head) head.emplace(config);
  UpdateLink();
  directory.SetNodeCount(static_cast<std::uint32_t>(members.size()));
}

void Node::Parts::UpdateLink() {
  const LinkEstimate link{
      .latency = latency.value_or(kLatencyUntilMeasured),
      .bytes_per_second = bytes_per_second.value_or(kBandwidthUntilMeasured)};
  directory.SetLink(link);
  puts.SetLink(link);
}

Node::Node(NodeConfig config)
    : parts_(std::make_unique<Parts>(std::move(config))) {}
Node::~Node() = default;
Node::Node(Node&&) noexcept = default;

void Node::Handle(absl::Time now, const Event& event, Commands& out) {
  HOPLITE_CHECK(now >= parts_->last);
  parts_->last = now;
  NodeContext context = parts_->Context(now, out);
  std::visit([&](const auto& happened) { parts_->On(context, happened); },
             event);
  parts_->ScheduleRoomRetry(now);
  parts_->ScheduleResync(now);
}

void Node::HandleTimeout(absl::Time now, Commands& out) {
  parts_->last = std::max(parts_->last, now);
  NodeContext context = parts_->Context(now, out);
  while (auto expired = parts_->requests.NextExpired(now)) {
    parts_->EndRequest(context, *expired, absl::StatusCode::kDeadlineExceeded,
                       "when the deadline came");
  }
  parts_->directory.HandleTimeout(now, out);
  if (parts_->head.has_value()) parts_->head->HandleTimeout(now, out);
  parts_->RetryRoom(context);
  parts_->ScheduleRoomRetry(now);
  parts_->Resync(context);
  parts_->ScheduleResync(now);
}

std::optional<absl::Time> Node::NextTimeout() const {
  const absl::Time never = absl::InfiniteFuture();
  const std::optional<absl::Time> head =
      parts_->head.has_value() ? parts_->head->NextTimeout() : std::nullopt;
  const absl::Time next =
      std::min({parts_->requests.NextDeadline().value_or(never),
                parts_->directory.NextTimeout().value_or(never),
                head.value_or(never), parts_->room_retry, parts_->resync});
  if (next == never) return std::nullopt;
  return next;
}

NodeStatus Node::Status() const {
  const Parts& parts = *parts_;
  NodeStatus status{
      .self = parts.config.self,
      .is_head = parts.config.is_head,
      .schedule = parts.config.schedule,
      .shards = parts.shard_map.assignments(),
      .directory_records = parts.directory.record_count(),
      .requests_waiting = parts.requests.size(),
      .transfers_under_way = parts.objects.transfers_under_way(),
      .reductions_under_way = parts.directory.reductions_under_way(),
      .buffers_held = parts.buffers.size(),
      .latency = parts.latency.value_or(kLatencyUntilMeasured),
      .bytes_per_second =
          parts.bytes_per_second.value_or(kBandwidthUntilMeasured)};
  for (const auto& [id, member] : parts.members) {
    status.members.push_back(member);
  }
  parts.objects.AppendStatus(status.objects);
  parts.member.AppendStatus(status.positions);
  return status;
}

std::string Node::CheckInvariants() const {
  std::string why = parts_->directory.CheckInvariants();
  if (why.empty()) why = parts_->objects.CheckInvariants(parts_->buffers);
  return why;
}

// --- Clients. ---------------------------------------------------------------

void Node::Parts::On(NodeContext& context, const event::PutRequested& put) {
  requests.Add(put.request, {RequestKind::kPut, put.object, put.deadline});
  puts.OnPut(context, put);
}

void Node::Parts::On(NodeContext& context, const event::PutFilled& filled) {
  puts.OnFilled(context, filled.request);
}

void Node::Parts::On(NodeContext& context, const event::GetRequested& get) {
  requests.Add(get.request, {RequestKind::kGet, get.object, get.deadline});
  objects.OnGet(context, get.request, get.object);
}

void Node::Parts::On(NodeContext& context,
                     const event::DeleteRequested& request) {
  requests.Add(request.request,
               {RequestKind::kDelete, request.object, request.deadline});
  context.SendToShard(
      request.object,
      message::DeleteAsk{.object = request.object, .request = request.request});
}

void Node::Parts::On(NodeContext& context,
                     const event::ReduceRequested& request) {
  requests.Add(request.request,
               {RequestKind::kReduce, request.target, request.deadline});
  message::ReduceAsk& ask = reduces[request.request];
  ask = {.target = request.target,
         .request = request.request,
         .sources = request.sources,
         .count = request.count,
         .op = request.op,
         .type = request.type};
  context.SendToShard(request.target, ask);
}

void Node::Parts::On(NodeContext& context,
                     const event::RequestCancelled& cancelled) {
  EndRequest(context, cancelled.request, absl::StatusCode::kCancelled,
             "when it was cancelled");
}

void Node::Parts::EndRequest(NodeContext& context, RequestId id,
                             absl::StatusCode code, std::string detail) {
  const RequestTable::Request* found = requests.Find(id);
  if (found == nullptr) return;
  const RequestTable::Request request = *found;
  if (head_away) {
    absl::StrAppend(&detail,
                    " (the head is away, without which the shards of "
                    "lost nodes get no new hosts)");
  }
  switch (request.kind) {
    case RequestKind::kPut:
      puts.EndPut(context, id, code, std::move(detail));
      break;
    case RequestKind::kGet:
      objects.EndGet(context, id, request.object, code, std::move(detail));
      break;
    case RequestKind::kDelete:
      absl::StrAppend(&detail, ", not every holder had dropped it");
      break;
    case RequestKind::kReduce:
      reduces.erase(id);
      absl::StrAppend(&detail, ", the target was not final");
      break;
  }
  requests.Answer({.request = id,
                   .code = code,
                   .detail = std::move(detail),
                   .remote = shard_map.FindFor(request.object).host},
                  context.out);
}

// --- The rest of the driver's events. ---------------------------------------

void Node::Parts::Resync(NodeContext& context) {
  if (context.now < resync) return;
  resync = absl::InfiniteFuture();
  Resend(context, ShardSet().set());
}

void Node::Parts::ScheduleResync(absl::Time now) {
  const bool waits =
      requests.size() > 0 || member.size() > 0 || directory.reduces();
  if (!waits) {
    resync = absl::InfiniteFuture();
  } else if (resync == absl::InfiniteFuture()) {
    resync = now + kResync;
  }
}

void Node::Parts::On(NodeContext&, const event::LatencyMeasured& measured) {
  // The least is the link's own; what is above it is a busy processor.
  latency =
      std::min(latency.value_or(absl::InfiniteDuration()), measured.latency);
  UpdateLink();
}

void Node::Parts::On(NodeContext&, const event::BandwidthMeasured& measured) {
  const double now = measured.bytes_per_second;
  if (!(now > 0) || !std::isfinite(now)) return;  // it took no time at all
  // A transfer that shared its link saw less of it: old highs fade slowly.
  const double faded = bytes_per_second.value_or(0) * 0.95;
  bytes_per_second = std::max(faded, now);
  UpdateLink();
}

void Node::Parts::On(NodeContext& context,
                     const event::BufferCreated& created) {
  const BufferTable::Entry* entry =
      buffers.OnCreated(created.buffer, context.out);
  if (entry == nullptr) return;
  buffers.StopWaiting(entry->owner);
  std::visit(Overloaded{[&](const PutOwner& owner) {
                          puts.OnBufferCreated(context, owner.request);
                        },
                        [&](const FetchOwner& owner) {
                          objects.OnBufferCreated(context, owner.object,
                                                  created.buffer);
                          member.OnObjectHere(context, owner.object);
                        },
                        [&](const OutputOwner& owner) {
                          member.OnBufferCreated(context, owner);
                        }},
             BufferOwner(entry->owner));
}

void Node::Parts::On(NodeContext& context,
                     const event::BufferRefused& refused) {
  const std::optional<BufferTable::Entry> entry =
      buffers.TakeRefused(refused.buffer);
  if (!entry.has_value()) return;
  std::visit(
      Overloaded{
          [&](const PutOwner& owner) {
            puts.OnBufferRefused(context, owner.request, refused.capacity);
          },
          [&](const FetchOwner& owner) {
            objects.OnBufferRefused(context, owner.object, refused.capacity);
            if (refused.capacity < entry->size) {
              member.OnObjectTooLarge(context, owner.object);
            }
          },
          [&](const OutputOwner& owner) {
            member.OnBufferRefused(context, owner, refused.capacity);
          }},
      entry->owner);
  if (refused.capacity >= entry->size) {
    objects.AskToEvict(context, refused.evictable, entry->size);
  }
}

void Node::Parts::On(NodeContext& context, const event::RoomFreed&) {
  OfferRoom(context);
}

void Node::Parts::OfferRoom(NodeContext& context) {
  // All at once: a large one that does not fit yet keeps no small one waiting.
  for (const BufferOwner& owner : buffers.TakeWaiting()) {
    TryAgain(context, owner);
  }
}

void Node::Parts::TryAgain(NodeContext& context, const BufferOwner& owner) {
  std::visit(
      Overloaded{
          [&](const PutOwner& put) { puts.TryAgain(context, put.request); },
          [&](const FetchOwner& fetch) {
            objects.AskAgain(context, fetch.object);
          },
          [&](const OutputOwner& output) { member.TryAgain(context, output); }},
      owner);
}

void Node::Parts::RetryRoom(NodeContext& context) {
  if (context.now < room_retry || !buffers.anyone_waits()) return;
  objects.ForgetDenials();
  // One finds out what may go; what then comes back is offered to all.
  TryAgain(context, buffers.NextToRetry());
}

void Node::Parts::ScheduleRoomRetry(absl::Time now) {
  if (!buffers.anyone_waits()) {
    room_retry = absl::InfiniteFuture();
  } else if (room_retry <= now || room_retry == absl::InfiniteFuture()) {
    room_retry = now + kRoomRetry;
  }
}

void Node::Parts::On(NodeContext& context, const event::PullRequested& pull) {
  if (pull.key.is_output()) {
    member.OnPull(context, pull);
    return;
  }
  const bool may_come = puts.IsPutting(pull.key.object, pull.generation);
  if (!objects.OnPull(context, pull, may_come)) {
    context.out.push_back(command::RefusePull{pull.pull});
  }
}

void Node::Parts::On(NodeContext& context, const event::PullEnded& ended) {
  objects.OnPullEnded(context, ended.pull);
  member.OnPullEnded(ended.pull);
}

void Node::Parts::On(NodeContext& context, const event::TransferDone& done) {
  objects.OnTransferDone(context, done.transfer);
}

void Node::Parts::On(NodeContext& context,
                     const event::TransferFailed& failed) {
  objects.OnTransferFailed(context, failed);
}

void Node::Parts::On(NodeContext& context, const event::FoldDone& done) {
  member.OnFoldDone(context, done.fold);
}

void Node::Parts::On(NodeContext& context, const event::FoldFailed& failed) {
  member.OnFoldFailed(context, failed);
}

void Node::Parts::On(NodeContext& context,
                     const event::PayloadsFolded& folded) {
  directory.OnFolded(context.now, folded, context.out);
}

void Node::Parts::On(NodeContext& context, const event::PrefixEnded& ended) {
  directory.OnPrefixEnded(context.now, ended.prefix, context.out);
}

}  // namespace hoplite
