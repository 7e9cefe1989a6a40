#include "hoplite/sim/client_model.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace hoplite::sim {
namespace {

// A client writes its buffer in so many pieces.
constexpr std::uint64_t kPieces = 8;

}  // namespace

RequestKey ClientModel::Open(NodeId node, Request request) {
  RequestId& last = last_request_[node];
  last = last.Next();
  const RequestKey key{node, last};
  open_[key] = std::move(request);
  if (!host_->HasNode(node)) {
    host_->agenda().After(absl::ZeroDuration(), [this, key] { Abort(key); });
  }
  return key;
}

void ClientModel::Abort(RequestKey key) {
  const auto found = open_.find(key);
  if (found == open_.end()) return;
  const OnAnswer on_answer = std::move(found->second.on_answer);
  open_.erase(found);
  command::AnswerRequest answer;
  answer.request = key.second;
  answer.code = absl::StatusCode::kUnavailable;
  answer.detail = "the node is gone";
  if (on_answer != nullptr) on_answer(answer);
}

void ClientModel::NodeDown(NodeId node) {
  std::vector<RequestKey> lost;
  for (const auto& [key, request] : open_) {
    if (key.first == node) lost.push_back(key);
  }
  for (RequestKey key : lost) Abort(key);
}

RequestKey ClientModel::Put(const PutSpec& spec, OnAnswer on_answer) {
  Request request;
  request.on_answer = std::move(on_answer);
  request.put = spec;
  const RequestKey key = Open(spec.node, std::move(request));
  event::PutRequested event;
  event.request = key.second;
  event.object = spec.object;
  event.size = spec.size;
  event.deadline = spec.deadline;
  event.streams = spec.streams;
  if (spec.with_payload) {
    const ContentId content =
        host_->contents().Put(PutContent{spec.object, spec.node, key.second});
    event.payload = host_->PayloadOf(content, spec.size);
  }
  host_->Tell(spec.node, std::move(event));
  return key;
}

RequestKey ClientModel::Get(const GetSpec& spec, OnAnswer on_answer) {
  Request request;
  request.on_answer = std::move(on_answer);
  request.is_get = true;
  request.reading_time = spec.reading_time;
  const RequestKey key = Open(spec.node, std::move(request));
  host_->Tell(spec.node,
              event::GetRequested{key.second, spec.object, spec.deadline});
  return key;
}

RequestKey ClientModel::Delete(const DeleteSpec& spec, OnAnswer on_answer) {
  Request request;
  request.on_answer = std::move(on_answer);
  const RequestKey key = Open(spec.node, std::move(request));
  host_->Tell(spec.node,
              event::DeleteRequested{key.second, spec.object, spec.deadline});
  return key;
}

RequestKey ClientModel::Reduce(const ReduceSpec& spec, OnAnswer on_answer) {
  Request request;
  request.on_answer = std::move(on_answer);
  const RequestKey key = Open(spec.node, std::move(request));
  event::ReduceRequested event;
  event.request = key.second;
  event.target = spec.target;
  event.sources = spec.sources;
  event.count = spec.count;
  event.op = spec.op;
  event.type = spec.type;
  event.deadline = spec.deadline;
  host_->Tell(spec.node, std::move(event));
  return key;
}

void ClientModel::Cancel(RequestKey key) {
  const auto found = open_.find(key);
  if (found == open_.end()) return;
  EndWriting(key);
  host_->Tell(key.first, event::RequestCancelled{key.second});
}

void ClientModel::HandBuffer(NodeId node, const command::HandBuffer& order) {
  const RequestKey key{node, order.request};
  const auto found = open_.find(key);
  if (found == open_.end()) return;
  Request& request = found->second;
  const BufferModel* buffer = host_->store(node).Find(order.buffer);
  if (request.writes || buffer == nullptr || buffer->watermark() > 0 ||
      buffer->size != request.put.size) {
    host_->Complain(node, absl::StrCat("hands request ", order.request.value(),
                                       " a buffer that it cannot write"));
    return;
  }
  host_->store(node).Hold(order.buffer, StoreModel::Holder::kClient);
  request.writes = order.buffer;
  host_->agenda().After(absl::ZeroDuration(),
                        [this, key] { Write(key, kPieces); });
}

void ClientModel::Write(RequestKey key, std::uint64_t pieces_left) {
  const auto found = open_.find(key);
  if (found == open_.end() || !found->second.writes) return;
  const PutSpec put = found->second.put;
  const BufferId writes = found->second.writes;
  const BufferModel* buffer = host_->store(key.first).Find(writes);
  if (buffer->failed) {
    EndWriting(key);
    return;
  }
  const bool at_once = put.writing_time == absl::ZeroDuration();
  if (pieces_left > 0) {
    const std::uint64_t done = kPieces - pieces_left + 1;
    const std::uint64_t end = at_once ? put.size
                                      : put.size / kPieces * done +
                                            put.size % kPieces * done / kPieces;
    if (end > buffer->watermark()) {
      Segments piece(buffer->watermark());
      piece.Append(end, host_->contents().Put(
                            PutContent{put.object, key.first, key.second}));
      host_->store(key.first).Append(writes, piece);
      host_->BufferAdvanced(key.first, writes);
    }
    const std::uint64_t left = at_once ? 0 : pieces_left - 1;
    host_->agenda().After(put.writing_time / static_cast<std::int64_t>(kPieces),
                          [this, key, left] { Write(key, left); });
    return;
  }
  EndWriting(key);
  if (put.abandons) {
    host_->Tell(key.first, event::RequestCancelled{key.second});
  } else {
    host_->Tell(key.first, event::PutFilled{key.second});
  }
}

void ClientModel::EndWriting(RequestKey key) {
  const auto found = open_.find(key);
  if (found == open_.end() || !found->second.writes) return;
  const BufferId writes = found->second.writes;
  found->second.writes = BufferId();
  host_->LetGo(key.first, writes, StoreModel::Holder::kClient);
}

void ClientModel::Answer(NodeId node, const command::AnswerRequest& answer) {
  const RequestKey key{node, answer.request};
  const auto found = open_.find(key);
  // A second answer is the checkers' business.
  if (found == open_.end()) return;
  EndWriting(key);
  const Request request = std::move(found->second);
  open_.erase(found);
  const bool ok = answer.code == absl::StatusCode::kOk;
  if (ok && request.is_get && host_->store(node).Contains(answer.buffer)) {
    const BufferId buffer = answer.buffer;
    host_->store(node).Hold(buffer, StoreModel::Holder::kClient);
    host_->store(node).Touch(buffer);
    host_->agenda().After(request.reading_time, [this, node, buffer] {
      host_->LetGo(node, buffer, StoreModel::Holder::kClient);
    });
  }
  if (request.on_answer != nullptr) request.on_answer(answer);
}

}  // namespace hoplite::sim
