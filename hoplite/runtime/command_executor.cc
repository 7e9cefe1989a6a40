#include "hoplite/runtime/command_executor.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "hoplite/base/check.h"
#include "hoplite/base/overloaded.h"
#include "hoplite/kernels/fold.h"

namespace hoplite {
namespace {

// A fold of more takes longer than the machine should wait.
constexpr std::uint64_t kFoldAtOnceBytesMax = 1 << 20;
// Addresses of dead members that are kept, to name them in errors.
constexpr std::size_t kForgottenMembersMax = 256;

std::uint64_t SizeOf(const Payload& payload) {
  return payload == nullptr ? 0 : payload->size();
}

std::uint64_t InlineBytes(const Message& message) {
  return std::visit(
      Overloaded{
          [](const message::GrantInline& grant) {
            return SizeOf(grant.payload);
          },
          [](const message::PutBegun& put) { return SizeOf(put.payload); },
          [](const message::SourceNews& news) {
            std::uint64_t sum = 0;
            for (const message::SourceEntry& entry : news.entries) {
              sum += SizeOf(entry.payload);
            }
            return sum;
          },
          [](const auto& /*other*/) { return std::uint64_t{0}; },
      },
      message);
}

event::PayloadsFolded Folded(const command::FoldPayloads& fold) {
  std::vector<std::span<const std::byte>> inputs;
  inputs.reserve(fold.payloads.size());
  for (const Payload& payload : fold.payloads) {
    inputs.push_back(std::as_bytes(std::span(*payload)));
  }
  std::string output(inputs.front().size(), '\0');
  Fold({.op = fold.op, .type = fold.type, .divisor = fold.divisor},
       std::as_writable_bytes(std::span(output)), inputs);
  return {.target = fold.target,
          .generation = fold.generation,
          .payload = MakePayload(std::move(output))};
}

}  // namespace

CommandExecutor::CommandExecutor(Parts parts) : parts_(std::move(parts)) {}

void CommandExecutor::Execute(const Commands& commands) {
  for (const Command& command : commands) {
    std::visit([this](const auto& order) { Do(order); }, command);
  }
}

void CommandExecutor::Stop() {
  folder_.Stop();
  buffers_.clear();
}

// --- Control. ---------------------------------------------------------------

void CommandExecutor::Do(const command::Send& send) {
  if (send.to == parts_.self) {
    parts_.deliver(
        event::MessageReceived{.from = parts_.self, .message = send.message});
    return;
  }
  ++messages_sent_;
  inline_bytes_sent_ += InlineBytes(send.message);
  parts_.control->Send(send.to, send.message);
}

void CommandExecutor::Do(const command::Admit& admit) {
  if (parts_.heartbeats != nullptr) parts_.heartbeats->Expect(admit.member.ref);
  parts_.control->Admit(admit.token, {.cluster = parts_.cluster,
                                      .self = admit.member,
                                      .members = admit.members,
                                      .shard_map = admit.shard_map});
}

void CommandExecutor::Do(const command::RefuseReturn& refuse) {
  parts_.control->RefuseReturn(refuse.token, refuse.reason);
}

void CommandExecutor::Do(const command::SeekHead& seek) {
  parts_.seeker->Seek(seek);
}

void CommandExecutor::Do(const command::EndLife& end) { parts_.end_life(end); }

void CommandExecutor::Do(const command::LearnMember& learn) {
  members_[learn.member.ref] = learn.member;
  parts_.control->Learn(learn.member);
  parts_.data->Learn(learn.member);
  if (parts_.heartbeats != nullptr && learn.member.ref.node == kHeadNode) {
    parts_.heartbeats->Follow(learn.member);
  }
  if (parts_.membership != nullptr) parts_.membership->Learn(learn.member);
}

void CommandExecutor::Do(const command::ForgetMember& forget) {
  parts_.control->Forget(forget.member);
  parts_.data->Forget(forget.member);
  if (parts_.heartbeats != nullptr) parts_.heartbeats->Forget(forget.member);
  if (parts_.membership != nullptr) parts_.membership->Forget(forget.member);
  forgotten_.push_back(forget.member);
  if (forgotten_.size() > kForgottenMembersMax) {
    members_.erase(forgotten_.front());
    forgotten_.pop_front();
  }
}

std::string CommandExecutor::AddressOf(NodeRef member) const {
  const auto found = members_.find(member);
  return found == members_.end() ? "" : found->second.control_address;
}

// --- Store. -----------------------------------------------------------------

const BufferPtr& CommandExecutor::Find(BufferId id) const {
  const auto found = buffers_.find(id);
  HOPLITE_CHECK(found != buffers_.end());
  return found->second;
}

std::uint64_t CommandExecutor::Watermark(BufferId id) const {
  const auto found = buffers_.find(id);
  return found == buffers_.end() ? 0 : found->second->watermark();
}

void CommandExecutor::FillBytes(NodeStatus& status) const {
  for (LocalObjectStatus& object : status.objects) {
    object.bytes = Watermark(object.buffer);
  }
  for (PositionStatus& position : status.positions) {
    position.bytes = Watermark(position.output);
  }
}

BufferPtr CommandExecutor::TryAllocate(BufferId id, std::uint64_t size) {
  if (auto buffer = parts_.store->Allocate(id, size); buffer.ok()) {
    return *std::move(buffer);
  }
  if (!parts_.store->FitsEver(size)) return nullptr;
  // Once more after the flag is up: room that came before it was told nobody.
  room_was_refused_ = true;
  auto buffer = parts_.store->Allocate(id, size);
  return buffer.ok() ? *std::move(buffer) : nullptr;
}

void CommandExecutor::Do(const command::CreateBuffer& create) {
  BufferPtr buffer = TryAllocate(create.buffer, create.size);
  if (buffer == nullptr) return RefuseBuffer(create);
  if (create.payload != nullptr) {
    HOPLITE_CHECK(create.payload->size() == create.size);
    if (create.size != 0) {
      std::memcpy(buffer->data().data(), create.payload->data(), create.size);
    }
    buffer->Advance(create.size);
  }
  const bool is_new = buffers_.emplace(create.buffer, std::move(buffer)).second;
  HOPLITE_CHECK(is_new);
  order_of_use_.Insert(create.buffer, create.size);
  parts_.deliver(event::BufferCreated{.buffer = create.buffer});
}

// Names every buffer that may go and not only as many as are needed: the
// machine cannot do without some of them.
void CommandExecutor::RefuseBuffer(const command::CreateBuffer& create) {
  event::BufferRefused refused{.buffer = create.buffer,
                               .capacity = parts_.store->capacity_bytes(),
                               .evictable = {}};
  if (parts_.store->FitsEver(create.size)) {
    refused.evictable =
        order_of_use_
            .Candidates(UINT64_MAX,
                        [this](BufferId id) {
                          const BufferPtr& buffer = Find(id);
                          return buffer->complete() && buffer.use_count() == 1;
                        })
            .ids;
  }
  parts_.deliver(std::move(refused));
}

void CommandExecutor::Do(const command::ReleaseBuffer& release) {
  const auto found = buffers_.find(release.buffer);
  HOPLITE_CHECK(found != buffers_.end());
  const BufferPtr buffer = std::move(found->second);
  buffers_.erase(found);
  order_of_use_.Erase(release.buffer);
  if (release.failed) {
    buffer->Fail(absl::AbortedError("this node has given the object up"));
  }
}

// --- Data plane. ------------------------------------------------------------

void CommandExecutor::Do(const command::StartTransfer& start) {
  parts_.data->StartTransfer(start, Find(start.buffer));
}
void CommandExecutor::Do(const command::CancelTransfer& cancel) {
  parts_.data->CancelTransfer(cancel.transfer);
}
void CommandExecutor::Do(const command::ServePull& serve) {
  order_of_use_.Touch(serve.buffer);
  parts_.data->ServePull(serve.pull, Find(serve.buffer));
}
void CommandExecutor::Do(const command::RefusePull& refuse) {
  parts_.data->RefusePull(refuse.pull);
}

void CommandExecutor::Do(const command::StartFold& start) {
  std::vector<BufferPtr> locals;
  locals.reserve(start.inputs.size());
  for (const command::FoldInput& input : start.inputs) {
    locals.push_back(input.local ? Find(input.local) : nullptr);
  }
  order_of_use_.Touch(start.own);
  parts_.data->StartFold(start, Find(start.output), Find(start.own),
                         std::move(locals));
}
void CommandExecutor::Do(const command::CancelFold& cancel) {
  parts_.data->CancelFold(cancel.fold);
}

void CommandExecutor::Do(const command::FoldPayloads& fold) {
  HOPLITE_CHECK(!fold.payloads.empty());
  if (fold.payloads.size() * fold.payloads.front()->size() <=
      kFoldAtOnceBytesMax) {
    parts_.deliver(Folded(fold));
    return;
  }
  folder_.Do([this, fold] { parts_.deliver(Folded(fold)); });
}

// --- Clients. ---------------------------------------------------------------

void CommandExecutor::Do(const command::HandBuffer& hand) {
  const std::shared_ptr<RequestObserver> observer =
      parts_.requests->Find(hand.request);
  if (observer != nullptr) observer->OnRoom(Find(hand.buffer));
}

void CommandExecutor::Do(const command::AnswerRequest& answer) {
  if (answer.code != absl::StatusCode::kOk) return Fail(answer);
  BufferPtr object;
  if (answer.buffer) {
    object = Find(answer.buffer);
    order_of_use_.Touch(answer.buffer);
  }
  parts_.requests->Answer(answer, parts_.self, "", std::move(object));
}

void CommandExecutor::Fail(command::AnswerRequest answer) {
  // The machine hears of ends only; the buffer knows how far it has come.
  if (answer.buffer) {
    answer.bytes_done =
        std::max(answer.bytes_done, Find(answer.buffer)->watermark());
  }
  std::string remote = AddressOf(answer.remote);
  if (const std::string trouble = parts_.data->TroubleWith(answer.remote);
      !trouble.empty()) {
    absl::StrAppend(&remote, " (", trouble, ")");
  }
  parts_.requests->Answer(answer, parts_.self, std::move(remote), nullptr);
}

}  // namespace hoplite
