#include "hoplite/runtime/node_life.h"

#include <unistd.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "hoplite/base/status_macros.h"

namespace hoplite {
namespace {

NodeConfig ConfigOf(const NodeLife::Setting& setting, std::uint64_t capacity) {
  const Welcome& welcome = setting.welcome;
  return {
      .self = welcome.self.ref,
      .is_head = setting.options.join.empty(),
      .cluster = welcome.cluster,
      // Of this life's own: for the draws of the plain schedule.
      .seed = welcome.cluster.value() ^ welcome.self.ref.incarnation.value(),
      .schedule = setting.options.schedule,
      .members = welcome.members,
      .shard_map = welcome.shard_map,
      .store_capacity = capacity,
      .returns = setting.returns,
      .dead_after = setting.options.dead_after};
}

NodeRef HeadOf(const std::vector<Member>& members) {
  for (const Member& member : members) {
    if (member.ref.node == kHeadNode) return member.ref;
  }
  return {};
}

std::string DefaultSocketPath(absl::string_view control_address) {
  const std::size_t colon = control_address.rfind(':');
  return absl::StrCat(SocketFolder(), "/node-", getpid(), "-",
                      control_address.substr(colon + 1), ".sock");
}

}  // namespace

NodeLife::NodeLife(Setting setting, Transports transports,
                   std::unique_ptr<ObjectStore> store)
    : setting_(std::move(setting)),
      self_(setting_.welcome.self.ref),
      store_(std::move(store)),
      transports_(std::move(transports)),
      requests_(setting_.last_request,
                [heartbeats = transports_.heartbeats.get()] {
                  return heartbeats != nullptr && heartbeats->MayBeGivenUp();
                }),
      seeker_(transports_.control.get(),
              [this](Event event) { loop_.Deliver(std::move(event)); }),
      node_(ConfigOf(setting_, store_->capacity_bytes())),
      executor_({.cluster = setting_.welcome.cluster,
                 .self = self_,
                 .control = transports_.control.get(),
                 .data = transports_.data.get(),
                 .store = store_.get(),
                 .requests = &requests_,
                 .heartbeats = transports_.heartbeats.get(),
                 .seeker = &seeker_,
                 .membership = setting_.membership,
                 .end_life =
                     [this](const command::EndLife& end) {
                       if (!std::exchange(ended_, true)) setting_.on_end(end);
                     },
                 .deliver =
                     [this](Event event) { loop_.Deliver(std::move(event)); }}),
      loop_(this) {
  if (setting_.recorder != nullptr) {
    setting_.recorder->Add(
        log_record::LifeBegun{ConfigOf(setting_, store_->capacity_bytes())});
  }
}

NodeLife::~NodeLife() {
  Stop(absl::StatusCode::kCancelled, "this node is shutting down");
}

void NodeLife::Run(absl::Time now, std::vector<Event>& batch) {
  if (ended_) batch.clear();  // whatever it did now, nobody would obey
  for (const Event& event : batch) {
    if (std::holds_alternative<event::RoomFreed>(event)) {
      room_freed_waits_ = false;
    }
    transfer_log_.Saw(now, event);
    Handle(now, event);
  }
  events_handled_ += batch.size();
  batch.clear();
  if (!ended_) HandleTimeout(now);
  for (const Command& command : commands_) transfer_log_.Saw(now, command);
  executor_.Execute(commands_);
  commands_.clear();
}

void NodeLife::Handle(absl::Time now, const Event& event) {
  const std::size_t before = commands_.size();
  node_.Handle(now, event, commands_);
  if (setting_.recorder == nullptr) return;
  setting_.recorder->Add(log_record::EventHandled{
      .now = now,
      .event = event,
      .commands = {commands_.begin() + before, commands_.end()}});
}

void NodeLife::HandleTimeout(absl::Time now) {
  const std::size_t before = commands_.size();
  node_.HandleTimeout(now, commands_);
  if (setting_.recorder == nullptr) return;
  setting_.recorder->Add(log_record::TimeoutHandled{
      .now = now, .commands = {commands_.begin() + before, commands_.end()}});
}

absl::Status NodeLife::Start(RequestPort* port) {
  // A buffer may go under any lock, so the machine must not run there; and
  // however many go at once, the machine hears of it once.
  store_->SetRoomFreedCallback([this] {
    if (!executor_.room_was_refused()) return;
    if (!room_freed_waits_.exchange(true)) {
      loop_.DeliverLater(event::RoomFreed{});
    }
  });
  const auto sink = [this](Event event) { loop_.Deliver(std::move(event)); };
  // What arrives meanwhile waits until all members are known.
  loop_.Inspect([&] {
    const Welcome& welcome = setting_.welcome;
    if (setting_.membership != nullptr) {
      setting_.membership->BeginLife(welcome.self);
    }
    transports_.data->Start(welcome.cluster, self_, sink);
    transports_.control->Start(welcome.cluster, self_, sink);
    if (transports_.heartbeats != nullptr) {
      transports_.heartbeats->Start(
          welcome.cluster, self_, sink,
          [this](bool in_touch) { requests_.Review(!in_touch, self_); });
    }
    for (const Member& member : welcome.members) {
      if (member.ref == self_) continue;
      executor_.Execute({command::LearnMember{.member = member}});
    }
  });
  const NodeOptions& options = setting_.options;
  if (!options.serve_clients) return absl::OkStatus();
  const std::string path = options.socket_path.empty()
                               ? DefaultSocketPath(control_address())
                               : options.socket_path;
  HOPLITE_ASSIGN_OR_RETURN(clients_,
                           ClientService::Listen(path, port, store_.get()));
  clients_->Serve();
  return absl::OkStatus();
}

void NodeLife::Stop(absl::StatusCode code, std::string why) {
  MutexLock lock(stop_mutex_);
  if (std::exchange(stopped_, true)) return;
  loop_.Stop();
  requests_.Close(self_, code, std::move(why));
  if (clients_ != nullptr) clients_->Stop();
  const NodeRef head = HeadOf(node_.Status().members);
  if (head && head != self_ && !ended_) {
    transports_.control->Send(head, message::Leave{});
  }
  transports_.control->Shutdown();
  seeker_.Stop();
  if (transports_.heartbeats != nullptr) transports_.heartbeats->Stop();
  transports_.data->Shutdown();
  store_->SetRoomFreedCallback(nullptr);
  executor_.Stop();
}

void NodeLife::Submit(Event event, std::shared_ptr<RequestObserver> observer) {
  if (!requests_.Add(event, std::move(observer))) return;
  loop_.Deliver(std::move(event));
}

std::string NodeLife::socket_path() const {
  return clients_ == nullptr ? "" : clients_->socket_path();
}

NodeCounters NodeLife::Counters() const {
  const DataPlaneCounters moved = transports_.data->counters();
  return {.payload_bytes_sent = moved.payload_bytes_sent,
          .payload_bytes_received = moved.payload_bytes_received,
          .transfers_started = moved.transfers_started,
          .pulls_served = moved.pulls_served,
          .checksum_errors = moved.checksum_errors,
          .connections_open = moved.connections_open,
          .control_messages_sent = executor_.messages_sent(),
          .inline_bytes_sent = executor_.inline_bytes_sent(),
          .events_handled = events_handled_,
          .requests_started = requests_.started(),
          .requests_failed = requests_.failed(),
          .store_bytes_used = store_->used_bytes(),
          .store_bytes_capacity = store_->capacity_bytes(),
          .store_buffers = store_->buffer_count(),
          .clients_connected = clients_ == nullptr ? 0 : clients_->connected()};
}

NodeReport NodeLife::Report() {
  NodeReport report;
  loop_.Inspect([&] {
    report.status = node_.Status();
    executor_.FillBytes(report.status);
  });
  report.counters = Counters();
  report.control_address = control_address();
  report.data_address = transports_.data->address();
  report.agent_address = setting_.welcome.self.agent_address;
  report.socket_path = socket_path();
  report.process = getpid();
  return report;
}

std::vector<TransferRecord> NodeLife::Transfers() {
  std::vector<TransferRecord> records;
  loop_.Inspect([&] { records = transfer_log_.Records(); });
  return records;
}

}  // namespace hoplite
