#include "hoplite/runtime/node_server.h"

#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "hoplite/base/check.h"
#include "hoplite/base/mutex.h"
#include "hoplite/base/status_macros.h"
#include "hoplite/core/node.h"
#include "hoplite/runtime/client_requests.h"
#include "hoplite/runtime/client_service.h"
#include "hoplite/runtime/clock.h"
#include "hoplite/runtime/command_executor.h"
#include "hoplite/runtime/control_loop.h"

namespace hoplite {
namespace {

// The head is the first node of its cluster.
constexpr NodeRef kHead{.node = NodeId(1), .incarnation = Incarnation(1)};

// Between attempts to join.
constexpr absl::Duration kFirstJoinPause = absl::Milliseconds(20);
constexpr absl::Duration kLongestJoinPause = absl::Milliseconds(500);

std::uint64_t RandomNumber() {
  std::uint64_t number = 0;
  HOPLITE_CHECK(getrandom(&number, sizeof(number), 0) == sizeof(number));
  return number;
}

// What a node of its own has to know of its cluster.
Welcome NewCluster(std::string control_address, std::string data_address) {
  Welcome welcome;
  welcome.cluster = ClusterId(RandomNumber() | 1);  // none is 0
  welcome.self = {.ref = kHead,
                  .control_address = std::move(control_address),
                  .data_address = std::move(data_address)};
  welcome.members = {welcome.self};
  for (std::uint32_t i = 0; i < kShardCount; ++i) {
    welcome.shard_map.Apply(
        {.at = {.shard = ShardId(i), .epoch = Epoch(1)}, .host = kHead});
  }
  return welcome;
}

// Joins, again and again while the head is not up, until the time is over.
absl::StatusOr<Welcome> JoinInTime(ControlTransport& control,
                                   const NodeOptions& options,
                                   const std::string& data_address) {
  const absl::Time deadline = SystemClock::Now() + options.join_timeout;
  absl::Duration pause = kFirstJoinPause;
  for (;;) {
    absl::StatusOr<Welcome> welcome =
        control.Join(options.join, data_address, deadline);
    if (!absl::IsUnavailable(welcome.status()) ||
        SystemClock::Now() + pause >= deadline) {
      return welcome;
    }
    Mutex mutex;
    CondVar never;
    MutexLock lock(mutex);
    never.WaitUntil(mutex, SystemClock::ToWallTime(SystemClock::Now() + pause));
    pause = std::min(2 * pause, kLongestJoinPause);
  }
}

NodeConfig ConfigOf(const Welcome& welcome, const NodeOptions& options,
                    std::uint64_t capacity) {
  return {.self = welcome.self.ref,
          .is_head = options.join.empty(),
          .cluster = welcome.cluster,
          .seed = RandomNumber(),
          .schedule = options.schedule,
          .members = welcome.members,
          .shard_map = welcome.shard_map,
          .store_capacity = capacity};
}

NodeRef HeadOf(const std::vector<Member>& members) {
  for (const Member& member : members) {
    if (member.ref.node == kHead.node) return member.ref;
  }
  return {};
}

std::string DefaultSocketPath(absl::string_view control_address) {
  const std::size_t colon = control_address.rfind(':');
  return absl::StrCat(SocketFolder(), "/node-", getpid(), "-",
                      control_address.substr(colon + 1), ".sock");
}

}  // namespace

// The order of the members is the order in which they need each other.
struct NodeServer::Parts final : public LoopBody {
  Parts(const NodeOptions& options, const Welcome& welcome,
        std::unique_ptr<ObjectStore> object_store,
        std::unique_ptr<ControlTransport> control_transport,
        std::unique_ptr<DataPlane> data_plane);

  void Run(absl::Time now, std::vector<Event>& batch) override;
  std::optional<absl::Time> NextTimeout() override {
    return node.NextTimeout();
  }
  void Start();
  void Stop();
  NodeCounters Counters() const;

  const NodeRef self;
  const ClusterId cluster;
  const NodeRef head;
  const bool is_head;
  const std::vector<Member> members_at_start;

  const std::unique_ptr<ObjectStore> store;
  const std::unique_ptr<ControlTransport> control;
  const std::unique_ptr<DataPlane> data;
  ClientRequests requests;
  std::atomic<std::uint64_t> events_handled = 0;
  std::atomic<bool> room_freed_waits = false;

  // Owned by whoever runs the machine.
  Node node;
  Commands commands;
  CommandExecutor executor;

  ControlLoop loop;
  std::unique_ptr<ClientService> clients;  // null: it serves none

  Mutex stop_mutex;
  bool stopped ABSL_GUARDED_BY(stop_mutex) = false;
};

NodeServer::Parts::Parts(const NodeOptions& options, const Welcome& welcome,
                         std::unique_ptr<ObjectStore> object_store,
                         std::unique_ptr<ControlTransport> control_transport,
                         std::unique_ptr<DataPlane> data_plane)
    : self(welcome.self.ref),
      cluster(welcome.cluster),
      head(HeadOf(welcome.members)),
      is_head(options.join.empty()),
      members_at_start(welcome.members),
      store(std::move(object_store)),
      control(std::move(control_transport)),
      data(std::move(data_plane)),
      node(ConfigOf(welcome, options, store->capacity_bytes())),
      executor(
          {.cluster = cluster,
           .self = self,
           .control = control.get(),
           .data = data.get(),
           .store = store.get(),
           .requests = &requests,
           .deliver = [this](Event event) { loop.Deliver(std::move(event)); }}),
      loop(this) {}

void NodeServer::Parts::Run(absl::Time now, std::vector<Event>& batch) {
  for (const Event& event : batch) {
    if (std::holds_alternative<event::RoomFreed>(event)) {
      room_freed_waits = false;
    }
    node.Handle(now, event, commands);
  }
  events_handled += batch.size();
  batch.clear();
  node.HandleTimeout(now, commands);
  executor.Execute(commands);
  commands.clear();
}

void NodeServer::Parts::Start() {
  // A buffer may go under any lock, so the machine must not run there; and
  // however many go at once, the machine hears of it once.
  store->SetRoomFreedCallback([this] {
    if (!executor.room_was_refused()) return;
    if (!room_freed_waits.exchange(true)) loop.DeliverLater(event::RoomFreed{});
  });
  const auto sink = [this](Event event) { loop.Deliver(std::move(event)); };
  // What arrives meanwhile waits until all members are known.
  loop.Inspect([&] {
    data->Start(cluster, self, sink);
    control->Start(cluster, self, sink);
    for (const Member& member : members_at_start) {
      if (member.ref == self) continue;
      executor.Execute({command::LearnMember{.member = member}});
    }
  });
}

void NodeServer::Parts::Stop() {
  MutexLock lock(stop_mutex);
  if (std::exchange(stopped, true)) return;
  loop.Stop();
  requests.Close(self);
  if (clients != nullptr) clients->Stop();
  if (!is_head && head) control->Send(head, message::Leave{});
  control->Shutdown();
  data->Shutdown();
  store->SetRoomFreedCallback(nullptr);
  executor.Stop();
}

NodeCounters NodeServer::Parts::Counters() const {
  const DataPlaneCounters moved = data->counters();
  return {.payload_bytes_sent = moved.payload_bytes_sent,
          .payload_bytes_received = moved.payload_bytes_received,
          .transfers_started = moved.transfers_started,
          .pulls_served = moved.pulls_served,
          .checksum_errors = moved.checksum_errors,
          .connections_open = moved.connections_open,
          .control_messages_sent = executor.messages_sent(),
          .inline_bytes_sent = executor.inline_bytes_sent(),
          .events_handled = events_handled,
          .requests_started = requests.started(),
          .requests_failed = requests.failed(),
          .store_bytes_used = store->used_bytes(),
          .store_bytes_capacity = store->capacity_bytes(),
          .store_buffers = store->buffer_count(),
          .clients_connected = clients == nullptr ? 0 : clients->connected()};
}

NodeServer::NodeServer(std::unique_ptr<Parts> parts)
    : parts_(std::move(parts)) {}

NodeServer::~NodeServer() { Stop(); }

absl::StatusOr<std::unique_ptr<NodeServer>> NodeServer::StartOver(
    const NodeOptions& options, std::unique_ptr<ControlTransport> control,
    std::unique_ptr<DataPlane> data) {
  HOPLITE_ASSIGN_OR_RETURN(
      std::unique_ptr<ObjectStore> store,
      ObjectStore::Create({.capacity_bytes = options.store_bytes}));
  Welcome welcome = NewCluster(control->address(), data->address());
  if (!options.join.empty()) {
    HOPLITE_ASSIGN_OR_RETURN(welcome,
                             JoinInTime(*control, options, data->address()));
  }
  auto parts = std::make_unique<Parts>(options, welcome, std::move(store),
                                       std::move(control), std::move(data));
  // No make_unique: the constructor is private.
  std::unique_ptr<NodeServer> server(new NodeServer(std::move(parts)));
  server->parts_->Start();
  if (options.serve_clients) {
    const std::string path = options.socket_path.empty()
                                 ? DefaultSocketPath(server->control_address())
                                 : options.socket_path;
    HOPLITE_ASSIGN_OR_RETURN(
        server->parts_->clients,
        ClientService::Listen(path, server.get(), server->parts_->store.get()));
    server->parts_->clients->Serve();
  }
  return server;
}

void NodeServer::Stop() { parts_->Stop(); }

std::string NodeServer::control_address() const {
  return parts_->control->address();
}

std::string NodeServer::socket_path() const {
  return parts_->clients == nullptr ? "" : parts_->clients->socket_path();
}

RequestId NodeServer::NewRequest() { return parts_->requests.NewRequest(); }

void NodeServer::Submit(Event event,
                        std::shared_ptr<RequestObserver> observer) {
  if (!parts_->requests.Add(event, std::move(observer))) return;
  parts_->loop.Deliver(std::move(event));
}

void NodeServer::Filled(RequestId request) {
  parts_->loop.Deliver(event::PutFilled{.request = request});
}

void NodeServer::Cancel(RequestId request) {
  parts_->loop.Deliver(event::RequestCancelled{.request = request});
}

NodeReport NodeServer::Report() {
  NodeReport report;
  parts_->loop.Inspect([&] { report.status = parts_->node.Status(); });
  report.counters = parts_->Counters();
  report.control_address = control_address();
  report.data_address = parts_->data->address();
  report.socket_path = socket_path();
  report.process = getpid();
  return report;
}

}  // namespace hoplite
