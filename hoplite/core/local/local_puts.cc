#include "hoplite/core/local/local_puts.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "hoplite/base/check.h"

namespace hoplite {

void LocalPuts::OnPut(NodeContext& context, const event::PutRequested& put) {
  LocalPut& entry = puts_[put.request];
  entry.object = put.object;
  entry.generation = {.node = context.self.node,
                      .era = context.self.incarnation.value(),
                      .counter = ++counter_};
  entry.size = put.payload != nullptr ? put.payload->size() : put.size;
  entry.payload = put.payload;
  entry.streams = put.streams;
  TryAgain(context, put.request);
}

void LocalPuts::TryAgain(NodeContext& context, RequestId request) {
  auto it = puts_.find(request);
  if (it == puts_.end() || it->second.buffer) return;
  LocalPut& put = it->second;
  put.buffer = context.buffers.Create(PutOwner{request, put.object}, put.size,
                                      put.payload, context.out);
}

void LocalPuts::OnBufferCreated(NodeContext& context, RequestId request) {
  auto it = puts_.find(request);
  HOPLITE_CHECK(it != puts_.end());
  LocalPut& put = it->second;
  put.has_buffer = true;
  Register(context, put);
  if (put.payload != nullptr) {
    put.filled = true;
  } else {
    context.out.push_back(command::HandBuffer{request, put.buffer});
  }
}

void LocalPuts::Register(NodeContext& context, LocalPut& put) {
  put.registered = context.now;
  const bool small = put.payload != nullptr && IsSmall(put.size, link_);
  context.SendToShard(
      put.object, message::PutBegun{.object = put.object,
                                    .generation = put.generation,
                                    .size = put.size,
                                    .sealed = put.payload != nullptr,
                                    .streams = put.streams,
                                    .payload = small ? put.payload : nullptr});
}

void LocalPuts::OnBufferRefused(NodeContext& context, RequestId request,
                                std::uint64_t capacity) {
  auto it = puts_.find(request);
  if (it == puts_.end()) return;
  it->second.buffer = BufferId();
  if (capacity < it->second.size) {
    End(context, it, absl::StatusCode::kResourceExhausted,
        absl::StrFormat("the object of %d bytes is larger than the store of "
                        "%d bytes; start this node with a larger --store",
                        it->second.size, capacity));
    return;
  }
  context.buffers.WaitForRoom(PutOwner{request, it->second.object});
}

void LocalPuts::OnFilled(NodeContext& context, RequestId request) {
  auto it = puts_.find(request);
  if (it == puts_.end() || !it->second.has_buffer) return;
  it->second.filled = true;
  FinishIfDone(context, it);
}

std::optional<absl::Duration> LocalPuts::OnAnswer(
    NodeContext& context, const message::PutAnswer& answer) {
  auto it = Find(answer.object, answer.generation);
  if (it == puts_.end() || it->second.accepted || context.IsOld(answer.at)) {
    return std::nullopt;
  }
  LocalPut& put = it->second;
  const bool elsewhere =
      context.shard_map.FindFor(put.object).host != context.self;
  const absl::Duration took = context.now - put.registered;
  switch (answer.code) {
    case absl::StatusCode::kOk:
      put.accepted = true;
      // The entry holds the buffer from now on; so does this Put until Seal.
      context.buffers.Hold(put.buffer);
      objects_.InstallPut(context, put.object, put.generation, put.size,
                          put.buffer);
      FinishIfDone(context, it);
      return elsewhere ? std::optional(took) : std::nullopt;
    case absl::StatusCode::kAlreadyExists:
      End(context, it, answer.code, "the id was put already");
      return std::nullopt;
    case absl::StatusCode::kNotFound:
      End(context, it, answer.code, "the id was deleted");
      return std::nullopt;
    default:
      End(context, it, answer.code, "the directory refused the Put");
  }
  return std::nullopt;
}

void LocalPuts::FinishIfDone(NodeContext& context, Puts::iterator it) {
  const LocalPut& put = it->second;
  if (!put.accepted || !put.filled) return;
  objects_.SealPut(context, put.object, put.generation,
                   /*tell_shard=*/put.payload == nullptr);
  End(context, it, absl::StatusCode::kOk, "");
}

void LocalPuts::EndPut(NodeContext& context, RequestId request,
                       absl::StatusCode code, std::string detail) {
  auto it = puts_.find(request);
  if (it == puts_.end()) return;
  const LocalPut put = it->second;
  if (!put.has_buffer) {
    code = code == absl::StatusCode::kDeadlineExceeded
               ? absl::StatusCode::kResourceExhausted
               : code;
    absl::StrAppend(&detail, ", the store had no room for it");
    End(context, it, code, std::move(detail));
    return;
  }
  if (!put.accepted) {
    absl::StrAppend(&detail, ", the directory had not accepted it");
    if (put.payload != nullptr) {
      // The object may be there already, and read: it stays, if it is.
      Answer(context, request, put, code, std::move(detail));
      return;
    }
  } else {
    absl::StrAppend(&detail, ", its writer had not sealed it");
  }
  context.SendToShard(
      put.object,
      message::PutAborted{.object = put.object, .generation = put.generation});
  End(context, it, code, std::move(detail));
  if (put.accepted) objects_.Abandon(context, put.object, put.generation);
}

void LocalPuts::End(NodeContext& context, Puts::iterator it,
                    absl::StatusCode code, std::string detail) {
  const RequestId request = it->first;
  const LocalPut put = it->second;
  puts_.erase(it);
  context.buffers.StopWaiting(PutOwner{request, put.object});
  context.buffers.Release(put.buffer, context.out,
                          code != absl::StatusCode::kOk);
  if (put.has_buffer && !put.accepted) {
    objects_.Abandon(context, put.object, Generation());
  }
  Answer(context, request, put, code, std::move(detail));
}

void LocalPuts::Answer(NodeContext& context, RequestId request,
                       const LocalPut& put, absl::StatusCode code,
                       std::string detail) {
  context.requests.Answer({.request = request,
                           .code = code,
                           .detail = std::move(detail),
                           .remote = context.shard_map.FindFor(put.object).host,
                           .bytes_total = put.size},
                          context.out);
}

void LocalPuts::OnDrop(NodeContext& context, const message::Drop& drop) {
  auto it = Find(drop.object, drop.generation);
  if (it == puts_.end()) return;
  const bool replaced = drop.code == absl::StatusCode::kAborted;
  End(context, it, replaced ? absl::StatusCode::kAlreadyExists : drop.code,
      drop.reason);
}

void LocalPuts::Resend(NodeContext& context, const ShardSet& shards) {
  for (auto& [request, put] : puts_) {
    if (put.has_buffer && !put.accepted &&
        shards.test(put.object.shard().value())) {
      Register(context, put);
    }
  }
}

void LocalPuts::AppendHoldings(const ShardSet& shards,
                               HoldingsByShard& holdings) const {
  using State = message::Holding::State;
  for (const auto& [request, put] : puts_) {
    if (!put.has_buffer || !shards.test(put.object.shard().value())) continue;
    holdings[put.object.shard()].push_back(
        {.object = put.object,
         .state = put.accepted ? State::kProducing : State::kPutting,
         .generation = put.generation,
         .size = put.size,
         .streams = put.streams});
  }
}

LocalPuts::Puts::iterator LocalPuts::Find(const ObjectId& object,
                                          Generation generation) {
  return std::find_if(puts_.begin(), puts_.end(), [&](const auto& entry) {
    return entry.second.generation == generation &&
           entry.second.object == object;
  });
}

bool LocalPuts::IsPutting(const ObjectId& object, Generation generation) const {
  return std::ranges::any_of(puts_, [&](const auto& entry) {
    return entry.second.generation == generation &&
           entry.second.object == object;
  });
}

}  // namespace hoplite
