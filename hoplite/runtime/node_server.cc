#include "hoplite/runtime/node_server.h"

#include <sys/random.h>
#include <unistd.h>

#include <cstdint>
#include <utility>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "hoplite/base/check.h"
#include "hoplite/base/status_macros.h"
#include "hoplite/runtime/clock.h"
#include "spdlog/spdlog.h"

namespace hoplite {
namespace {

// Between two attempts to join, or to live again.
constexpr absl::Duration kRetryPause = absl::Milliseconds(100);
// The numbers of requests that each life has for itself.
constexpr int kRequestShift = 40;

std::uint64_t RandomNumber() {
  std::uint64_t number = 0;
  HOPLITE_CHECK(getrandom(&number, sizeof(number), 0) == sizeof(number));
  return number;
}

// What a head has to know of its cluster: of a new one that it hosts all
// shards; of one that goes on nothing.
Welcome HeadsWelcome(const Transports& transports,
                     const std::string& agent_address, ClusterId cluster,
                     std::uint64_t head_number) {
  Welcome welcome;
  welcome.cluster = cluster;
  welcome.self = {
      .ref = {kHeadNode, Incarnation(head_number << kHeadNumberShift | 1)},
      .control_address = transports.control->address(),
      .data_address = transports.data->address(),
      .agent_address = agent_address};
  welcome.members = {welcome.self};
  if (head_number > 0) return welcome;
  for (std::uint32_t i = 0; i < kShardCount; ++i) {
    welcome.shard_map.Apply({.at = {.shard = ShardId(i), .epoch = Epoch(1)},
                             .host = welcome.self.ref});
  }
  return welcome;
}

RequestAnswer BetweenLives() {
  return {.status = absl::UnavailableError(
              "this node was declared dead and has yet to join again"),
          .object = nullptr,
          .sources = {}};
}

}  // namespace

NodeServer::NodeServer(const NodeOptions& options, Opener opener)
    : options_(options),
      opener_(std::move(opener)),
      membership_(options.membership_observer == nullptr
                      ? nullptr
                      : std::make_unique<MembershipNotifier>(
                            options.membership_observer)) {}

NodeServer::~NodeServer() { Stop(); }

absl::StatusOr<std::unique_ptr<NodeServer>> NodeServer::StartOver(
    const NodeOptions& options, Opener opener) {
  // No make_unique: the constructor is private.
  std::unique_ptr<NodeServer> server(
      new NodeServer(options, std::move(opener)));
  if (!options.record.empty()) {
    HOPLITE_ASSIGN_OR_RETURN(server->recorder_,
                             EventRecorder::Create(options.record));
  }
  HOPLITE_RETURN_IF_ERROR(server->Begin({}).status());
  return server;
}

absl::StatusOr<Welcome> NodeServer::Join(ControlTransport& control,
                                         absl::string_view data_address,
                                         absl::string_view agent_address) {
  {
    MutexLock lock(mutex_);
    if (stopping_) return absl::CancelledError("this node is shutting down");
    joining_ = &control;
  }
  const absl::Time deadline = SystemClock::Now() + options_.join_timeout;
  absl::StatusOr<Welcome> welcome;
  do {
    welcome =
        control.Join(options_.join, data_address, agent_address, deadline);
    if (welcome.status().code() != absl::StatusCode::kUnavailable) break;
  } while (SystemClock::Now() + kRetryPause < deadline && Pause());
  MutexLock lock(mutex_);
  joining_ = nullptr;
  return welcome;
}

absl::StatusOr<NodeServer::LifePtr> NodeServer::Begin(
    const Beginning& beginning) {
  HOPLITE_ASSIGN_OR_RETURN(
      std::unique_ptr<ObjectStore> store,
      ObjectStore::Create({.capacity_bytes = options_.store_bytes}));
  HOPLITE_ASSIGN_OR_RETURN(Transports transports, opener_(options_));
  const std::string agent =
      Advertised(options_.agent_address, transports.control->address());
  const bool succeeds = beginning.head_number > 0;
  Welcome welcome;
  if (options_.join.empty()) {
    // No cluster's number is 0.
    welcome = HeadsWelcome(
        transports, agent,
        succeeds ? beginning.cluster : ClusterId(RandomNumber() | 1),
        beginning.head_number);
  } else {
    HOPLITE_ASSIGN_OR_RETURN(
        welcome, Join(*transports.control, transports.data->address(), agent));
  }
  auto life = std::make_shared<NodeLife>(
      NodeLife::Setting{.options = options_,
                        .welcome = std::move(welcome),
                        .returns = succeeds,
                        .last_request = lives_++ << kRequestShift,
                        .recorder = recorder_.get(),
                        .membership = membership_.get(),
                        .on_end =
                            [this](const command::EndLife& end) {
                              if (membership_) membership_->EndLife(end.reason);
                              next_life_.Do([this, end] { LiveAgain(end); });
                            }},
      std::move(transports), std::move(store));
  {
    MutexLock lock(mutex_);
    if (stopping_) return absl::CancelledError("this node is shutting down");
    life_ = life;
    control_address_ = life->control_address();
  }
  // The next life listens at the same place.
  options_.listen = SamePlace(options_.listen, life->control_address());
  const absl::Status started = life->Start(this);
  if (!started.ok() && membership_) membership_->EndLife(started.message());
  MutexLock lock(mutex_);
  if (!started.ok()) {
    life_ = nullptr;
    return started;
  }
  socket_path_ = life->socket_path();
  return life;
}

void NodeServer::LiveAgain(const command::EndLife& end) {
  spdlog::warn("node: {}; it begins anew", end.reason);
  LifePtr life;
  {
    MutexLock lock(mutex_);
    life = std::exchange(life_, nullptr);
  }
  if (life != nullptr) life->Stop(absl::StatusCode::kUnavailable, end.reason);
  life.reset();
  if (options_.join.empty() && end.head_number == 0) return;
  do {
    const auto next =
        Begin({.cluster = end.cluster, .head_number = end.head_number});
    if (next.ok()) return;
    spdlog::warn("node: it cannot begin anew yet: {}",
                 next.status().ToString());
  } while (Pause());
}

bool NodeServer::Pause() {
  const absl::Time until = SystemClock::Now() + kRetryPause;
  MutexLock lock(mutex_);
  while (!stopping_ && SystemClock::Now() < until) {
    changed_.WaitUntil(mutex_, SystemClock::ToWallTime(until));
  }
  return !stopping_;
}

void NodeServer::Stop() {
  {
    MutexLock lock(mutex_);
    stopping_ = true;
    if (joining_ != nullptr) joining_->Shutdown();
    changed_.NotifyAll();
  }
  next_life_.Stop();
  if (const LifePtr present = life()) {
    present->Stop(absl::StatusCode::kCancelled, "this node is shutting down");
  }
  if (membership_) membership_->Stop();
}

NodeServer::LifePtr NodeServer::life() const {
  MutexLock lock(mutex_);
  return life_;
}

std::string NodeServer::control_address() const {
  MutexLock lock(mutex_);
  return control_address_;
}

std::string NodeServer::socket_path() const {
  MutexLock lock(mutex_);
  return socket_path_;
}

RequestId NodeServer::NewRequest() {
  if (const LifePtr present = life()) return present->NewRequest();
  return RequestId(lives_++ << kRequestShift | 1);
}

void NodeServer::Submit(Event event,
                        std::shared_ptr<RequestObserver> observer) {
  if (const LifePtr present = life()) {
    present->Submit(std::move(event), std::move(observer));
  } else {
    observer->OnAnswer(BetweenLives());
  }
}

void NodeServer::Filled(RequestId request) {
  if (const LifePtr present = life()) {
    present->Deliver(event::PutFilled{.request = request});
  }
}

void NodeServer::Cancel(RequestId request) {
  if (const LifePtr present = life()) {
    present->Deliver(event::RequestCancelled{.request = request});
  }
}

void NodeServer::EndPrefix(const IdPrefix& prefix) {
  if (const LifePtr present = life()) {
    present->Deliver(event::PrefixEnded{.prefix = prefix});
  }
}

NodeReport NodeServer::Report() {
  if (const LifePtr present = life()) return present->Report();
  NodeReport report;
  report.control_address = control_address();
  report.socket_path = socket_path();
  report.process = getpid();
  return report;
}

std::vector<TransferRecord> NodeServer::Transfers() {
  const LifePtr present = life();
  return present == nullptr ? std::vector<TransferRecord>()
                            : present->Transfers();
}

}  // namespace hoplite
