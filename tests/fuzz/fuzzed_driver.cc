#include "tests/fuzz/fuzzed_driver.h"

#include <cstdio>
#include <iterator>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "hoplite/base/check.h"
#include "hoplite/core/event_fields.h"
#include "hoplite/core/testing/values.h"
#include "hoplite/runtime/request_port.h"

namespace hoplite::fuzz {
namespace {

constexpr std::uint64_t kCapacity = 1 << 20;
// A node that goes on telling itself things for longer does not end.
constexpr int kMessagesToSelfMax = 100'000;

// A node of five, and where the shards of the objects are.
NodeConfig DrawConfig(FuzzInput& input) {
  const std::uint32_t self = input.Below(4) == 0 ? 1 : 2;
  NodeConfig config{.self = testing::Ref(self),
                    .is_head = self == 1,
                    .cluster = ClusterId(1),
                    .store_capacity = kCapacity};
  for (std::uint32_t node = 1; node <= FieldDrawer::kNodes; ++node) {
    config.members.push_back(testing::MemberOf(node));
  }
  config.shard_map = testing::AllShardsOn(testing::Ref(self));
  if (input.Below(4) > 0) return config;
  const std::uint8_t elsewhere = input.Byte();
  for (std::uint32_t object = 0; object < FieldDrawer::kObjects; ++object) {
    if ((elsewhere >> object & 1) == 0) continue;
    config.shard_map.Apply({.at = {testing::Id(object).shard(), Epoch(2)},
                            .host = testing::Ref(3)});
  }
  return config;
}

bool MayFold(ReduceOp op, DataType type, std::uint64_t divisor,
             std::uint64_t size) {
  return Supports(op, type) && divisor > 0 && size % SizeOf(type) == 0;
}

}  // namespace

FuzzedDriver::FuzzedDriver(FuzzInput& input)
    : input_(input),
      config_(DrawConfig(input)),
      now_(testing::At(0)),
      node_(config_) {}

void FuzzedDriver::Run() {
  while (!input_.empty() && !ended_) {
    Step();
    for (int i = 0; !to_self_.empty() && !ended_; ++i) {
      HOPLITE_CHECK(i < kMessagesToSelfMax);
      Message message = std::move(to_self_.front());
      to_self_.pop_front();
      Handle(event::MessageReceived{.from = config_.self,
                                    .message = std::move(message)});
    }
    const std::string broken = node_.CheckInvariants();
    if (!broken.empty()) std::fprintf(stderr, "%s\n", broken.c_str());
    HOPLITE_CHECK(broken.empty());
  }
}

void FuzzedDriver::Step() {
  switch (input_.Below(12)) {
    case 0:
    case 1:
      return ClientSpeaks();
    case 2:
      return PeerPulls();
    case 3:
      return MembershipChanges();
    case 4:
    case 5:
      return StoreAnswers();
    case 6:
      return OrderEnds();
    case 7:
      return TimePasses();
    default:
      return PeerSpeaks();
  }
}

void FuzzedDriver::ClientSpeaks() {
  const auto begin = [this](auto request) {
    request.request = RequestId(++last_request_);
    if (!ValidateRequest(request).ok()) return;
    requests_.insert(request.request);
    Handle(request);
  };
  const RequestId known(1 + input_.Below(last_request_ % 250 + 1));
  switch (input_.Below(6)) {
    case 0: {
      auto put = Drawn<event::PutRequested>();
      if (put.payload != nullptr) put.size = put.payload->size();
      return begin(put);
    }
    case 1:
      gets_.insert(RequestId(last_request_ + 1));
      return begin(Drawn<event::GetRequested>());
    case 2:
      return begin(Drawn<event::DeleteRequested>());
    case 3:
      return begin(Drawn<event::ReduceRequested>());
    case 4:
      return Handle(event::PutFilled{known});
    default:
      return Handle(event::RequestCancelled{known});
  }
}

void FuzzedDriver::PeerSpeaks() {
  const auto received = Drawn<event::MessageReceived>();
  // Nobody else speaks under this node's own name.
  if (received.from.node == config_.self.node) return;
  Handle(received);
}

void FuzzedDriver::PeerPulls() {
  auto pull = Drawn<event::PullRequested>();
  pull.pull = PullId(++last_pull_);
  pulls_.insert(pull.pull);
  Handle(pull);
}

void FuzzedDriver::MembershipChanges() {
  switch (input_.Below(10)) {
    case 0:
      return Handle(Drawn<event::PeerLost>());
    case 1:
      return Handle(Drawn<event::PeerReturned>());
    case 2:
      return Handle(Drawn<event::PeerDied>());
    case 3:
      return Handle(Drawn<event::JoinRequested>());
    case 4:
      return Handle(Drawn<event::ReturnRequested>());
    case 5:
      return Handle(Drawn<event::HeadFound>());
    case 6:
      return Handle(Drawn<event::LatencyMeasured>());
    case 7:
      return Handle(Drawn<event::BandwidthMeasured>());
    case 8:
      switch (input_.Below(32)) {
        case 0:
          return Handle(Drawn<event::Fenced>());
        case 1:
          return Handle(Drawn<event::PrefixEnded>());
        default:
          return;
      }
    default:
      return Handle(event::RoomFreed{});
  }
}

void FuzzedDriver::StoreAnswers() {
  if (ordered_.empty()) return;
  const auto [buffer, size] = TakeOne(ordered_);
  if (size <= kCapacity && input_.Below(4) > 0) {
    buffers_[buffer] = size;
    return Handle(event::BufferCreated{buffer});
  }
  event::BufferRefused refused{.buffer = buffer, .capacity = kCapacity};
  for (const auto& [other, other_size] : buffers_) {
    if (input_.Below(2) == 0) refused.evictable.push_back(other);
  }
  Handle(refused);
}

void FuzzedDriver::OrderEnds() {
  const std::size_t kind = input_.Below(4);
  if (kind == 0 && !transfers_.empty()) {
    const TransferId transfer = TakeOne(transfers_);
    if (input_.Below(2) == 0) return Handle(event::TransferDone{transfer});
    auto failed = Drawn<event::TransferFailed>();
    failed.transfer = transfer;
    return Handle(failed);
  }
  if (kind == 1 && !folds_.empty()) {
    const FoldId fold = TakeOne(folds_);
    if (input_.Below(2) == 0) return Handle(event::FoldDone{fold});
    return Handle(event::FoldFailed{.fold = fold,
                                    .lost = testing::Ref(1 + input_.Below(5))});
  }
  if (kind == 2 && !folded_.empty()) {
    const event::PayloadsFolded folded = folded_.front();
    folded_.pop_front();
    return Handle(folded);
  }
  // The peer closes its connection, served or not.
  std::set<PullId>& pulls = ending_.empty() ? pulls_ : ending_;
  if (!pulls.empty()) Handle(event::PullEnded{TakeOne(pulls)});
}

void FuzzedDriver::TimePasses() {
  static constexpr absl::Duration kJumps[] = {
      absl::ZeroDuration(), absl::Milliseconds(1), absl::Seconds(1),
      absl::Seconds(10), absl::Hours(1)};
  now_ += kJumps[input_.Below(std::size(kJumps))];
  node_.HandleTimeout(now_, commands_);
  TakeCommands();
}

void FuzzedDriver::Handle(const Event& event) {
  node_.Handle(now_, event, commands_);
  TakeCommands();
}

void FuzzedDriver::TakeCommands() {
  for (const Command& command : std::exchange(commands_, {})) {
    std::visit([this](const auto& order) { Do(order); }, command);
  }
}

void FuzzedDriver::Do(const command::Send& send) {
  if (send.to == config_.self) to_self_.push_back(send.message);
}

void FuzzedDriver::Do(const command::EndLife&) { ended_ = true; }

std::uint64_t FuzzedDriver::SizeOf(BufferId buffer) const {
  const auto found = buffers_.find(buffer);
  HOPLITE_CHECK(found != buffers_.end());
  return found->second;
}

void FuzzedDriver::Do(const command::CreateBuffer& create) {
  HOPLITE_CHECK(create.payload == nullptr ||
                create.payload->size() == create.size);
  HOPLITE_CHECK(!buffers_.contains(create.buffer));
  HOPLITE_CHECK(ordered_.emplace(create.buffer, create.size).second);
}

void FuzzedDriver::Do(const command::ReleaseBuffer& release) {
  HOPLITE_CHECK(buffers_.erase(release.buffer) == 1);
}

void FuzzedDriver::Do(const command::StartTransfer& start) {
  HOPLITE_CHECK(SizeOf(start.buffer) == start.size);
  HOPLITE_CHECK(start.begin <= start.size);
  HOPLITE_CHECK(transfers_.insert(start.transfer).second);
}

void FuzzedDriver::Do(const command::ServePull& serve) {
  SizeOf(serve.buffer);
  if (pulls_.erase(serve.pull) == 1) ending_.insert(serve.pull);
}

void FuzzedDriver::Do(const command::RefusePull& refuse) {
  if (pulls_.erase(refuse.pull) == 1) ending_.insert(refuse.pull);
}

void FuzzedDriver::Do(const command::StartFold& start) {
  HOPLITE_CHECK(SizeOf(start.output) == start.size);
  HOPLITE_CHECK(SizeOf(start.own) == start.size);
  for (const command::FoldInput& input : start.inputs) {
    HOPLITE_CHECK(!input.local || SizeOf(input.local) == start.size);
    HOPLITE_CHECK(input.local || input.member);
  }
  HOPLITE_CHECK(MayFold(start.op, start.type, start.divisor, start.size));
  HOPLITE_CHECK(folds_.insert(start.fold).second);
}

void FuzzedDriver::Do(const command::FoldPayloads& fold) {
  HOPLITE_CHECK(!fold.payloads.empty());
  for (const Payload& payload : fold.payloads) {
    HOPLITE_CHECK(payload != nullptr &&
                  payload->size() == fold.payloads.front()->size());
  }
  HOPLITE_CHECK(
      MayFold(fold.op, fold.type, fold.divisor, fold.payloads.front()->size()));
  folded_.push_back({.target = fold.target,
                     .generation = fold.generation,
                     .payload = fold.payloads.front()});
}

void FuzzedDriver::Do(const command::HandBuffer& hand) { SizeOf(hand.buffer); }

void FuzzedDriver::Do(const command::AnswerRequest& answer) {
  HOPLITE_CHECK(requests_.erase(answer.request) == 1);
  if (answer.buffer) SizeOf(answer.buffer);
  const bool is_get = gets_.erase(answer.request) == 1;
  // A Get that ends well has its object; one that does not may have a part.
  if (answer.code == absl::StatusCode::kOk) {
    HOPLITE_CHECK(is_get == bool{answer.buffer});
  } else {
    HOPLITE_CHECK(is_get || !answer.buffer);
  }
}

}  // namespace hoplite::fuzz
