#include "hoplite/net/tcp_data.h"

#include <map>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_format.h"
#include "hoplite/base/check.h"
#include "hoplite/base/status_macros.h"
#include "hoplite/net/tcp_data_address.h"
#include "hoplite/net/tcp_data_engine.h"
#include "hoplite/net/tcp_data_fold.h"
#include "hoplite/net/tcp_data_peers.h"
#include "hoplite/net/tcp_data_server.h"
#include "hoplite/net/tcp_data_socket.h"
#include "hoplite/net/tcp_data_transfer.h"

namespace hoplite {
namespace {

// Every method posts what is to be done to the loop, in order.
class TcpData final : public DataPlane {
 public:
  TcpData(int listener, std::string address)
      : address_(std::move(address)),
        peers_(engine_),
        server_(engine_, peers_, listener) {
    engine_.loop.SetTick([this] { return OnTick(); });
  }
  ~TcpData() override { TcpData::Shutdown(); }

  std::string address() const override { return address_; }
  void Start(ClusterId cluster, NodeRef self, EventSink sink) override;
  void Learn(const Member& member) override;
  void Forget(NodeRef member) override;
  void StartTransfer(const command::StartTransfer& order,
                     BufferPtr buffer) override;
  void CancelTransfer(TransferId transfer) override;
  void ServePull(PullId pull, BufferPtr buffer) override;
  void RefusePull(PullId pull) override;
  void StartFold(const command::StartFold& order, BufferPtr output,
                 BufferPtr own, std::vector<BufferPtr> locals) override;
  void CancelFold(FoldId fold) override;
  DataPlaneCounters counters() const override;
  std::string TroubleWith(NodeRef peer) const override {
    return engine_.troubles.Of(peer);
  }
  void Shutdown() override;

 private:
  // All for the loop's thread.
  bool OnTick();
  void ForgetMember(NodeRef member);
  void BeginTransfer(const command::StartTransfer& order, BufferPtr buffer);
  void EndTransfer(Transfer& transfer, Pull::End end);
  void BeginFold(const command::StartFold& order, BufferPtr output,
                 BufferPtr own, std::vector<BufferPtr> locals);
  void EndFold(FoldStream& fold, NodeRef lost);

  const std::string address_;
  DataEngine engine_;
  Peers peers_;
  PullServer server_;
  std::map<TransferId, std::shared_ptr<Transfer>> transfers_;
  std::map<FoldId, std::shared_ptr<FoldStream>> folds_;
};

void TcpData::Start(ClusterId cluster, NodeRef self, EventSink sink) {
  engine_.cluster = cluster;
  engine_.self = self;
  engine_.sink = std::move(sink);
  engine_.loop.Start();
  engine_.loop.Post([this] { server_.Start(); });
}

void TcpData::Learn(const Member& member) {
  engine_.loop.Post([this, member] { peers_.Learn(member); });
}

void TcpData::Forget(NodeRef member) {
  engine_.loop.Post([this, member] { ForgetMember(member); });
}

void TcpData::ForgetMember(NodeRef member) {
  peers_.Forget(member);
  server_.CutForgotten();
  const auto transfers = transfers_;
  for (const auto& [id, transfer] : transfers) {
    if (transfer->server() != member || !transfers_.contains(id)) continue;
    transfer->Cut();
    EndTransfer(*transfer, Pull::End::kBroken);
  }
  const auto folds = folds_;
  for (const auto& [id, fold] : folds) {
    if (fold->PullsFrom(member)) fold->Fail(member);
  }
}

void TcpData::StartTransfer(const command::StartTransfer& order,
                            BufferPtr buffer) {
  HOPLITE_CHECK(buffer != nullptr && buffer->size() == order.size);
  engine_.loop.Post([this, order, buffer = std::move(buffer)] {
    BeginTransfer(order, buffer);
  });
}

void TcpData::BeginTransfer(const command::StartTransfer& order,
                            BufferPtr buffer) {
  if (buffer->complete()) {
    return engine_.Emit(event::TransferDone{order.transfer});
  }
  const auto transfer = std::make_shared<Transfer>(
      engine_, peers_, order, std::move(buffer),
      [this](Transfer& ended, Pull::End end) { EndTransfer(ended, end); });
  transfers_.emplace(order.transfer, transfer);
  transfer->Start();
}

void TcpData::EndTransfer(Transfer& transfer, Pull::End end) {
  const TransferId id = transfer.id();
  const auto found = transfers_.find(id);
  if (found == transfers_.end()) return;
  engine_.loop.DestroyLater(std::move(found->second));
  transfers_.erase(found);
  if (end != Pull::End::kDone) {
    return engine_.Emit(
        event::TransferFailed{.transfer = id,
                              .received = transfer.received(),
                              .refused = end == Pull::End::kRefused});
  }
  if (const double bandwidth = transfer.Bandwidth(); bandwidth > 0) {
    engine_.Emit(event::BandwidthMeasured{bandwidth});
  }
  engine_.Emit(event::TransferDone{id});
}

void TcpData::CancelTransfer(TransferId transfer) {
  engine_.loop.Post([this, transfer] {
    const auto found = transfers_.find(transfer);
    if (found == transfers_.end()) return;
    found->second->Cut();
    EndTransfer(*found->second, Pull::End::kBroken);
  });
}

void TcpData::ServePull(PullId pull, BufferPtr buffer) {
  HOPLITE_CHECK(buffer != nullptr);
  engine_.loop.Post([this, pull, buffer = std::move(buffer)] {
    server_.Serve(pull, buffer);
  });
}

void TcpData::RefusePull(PullId pull) {
  engine_.loop.Post([this, pull] { server_.Refuse(pull); });
}

void TcpData::StartFold(const command::StartFold& order, BufferPtr output,
                        BufferPtr own, std::vector<BufferPtr> locals) {
  engine_.loop.Post(
      [this, order, output = std::move(output), own = std::move(own),
       locals = std::move(locals)] { BeginFold(order, output, own, locals); });
}

void TcpData::BeginFold(const command::StartFold& order, BufferPtr output,
                        BufferPtr own, std::vector<BufferPtr> locals) {
  if (order.size == 0) return engine_.Emit(event::FoldDone{order.fold});
  const auto fold = std::make_shared<FoldStream>(
      engine_, peers_, order, std::move(output), std::move(own),
      std::move(locals),
      [this](FoldStream& ended, NodeRef lost) { EndFold(ended, lost); });
  folds_.emplace(order.fold, fold);
  fold->Start();
}

void TcpData::EndFold(FoldStream& fold, NodeRef lost) {
  const FoldId id = fold.id();
  const auto found = folds_.find(id);
  if (found == folds_.end()) return;
  engine_.loop.DestroyLater(std::move(found->second));
  folds_.erase(found);
  if (lost) {
    engine_.Emit(event::FoldFailed{.fold = id, .lost = lost});
  } else {
    engine_.Emit(event::FoldDone{id});
  }
}

void TcpData::CancelFold(FoldId fold) {
  engine_.loop.Post([this, fold] {
    const auto found = folds_.find(fold);
    if (found == folds_.end()) return;
    found->second->Cut();
    engine_.loop.DestroyLater(std::move(found->second));
    folds_.erase(found);
    engine_.Emit(event::FoldFailed{.fold = fold, .lost = NodeRef()});
  });
}

bool TcpData::OnTick() {
  bool again = server_.OnTick();
  again |= peers_.OnTick();
  const auto transfers = transfers_;
  for (const auto& [id, transfer] : transfers) again |= transfer->OnTick();
  const auto folds = folds_;
  for (const auto& [id, fold] : folds) again |= fold->OnTick();
  return again;
}

DataPlaneCounters TcpData::counters() const {
  return {.payload_bytes_sent = engine_.payload_bytes_sent.value(),
          .payload_bytes_received = engine_.payload_bytes_received.value(),
          .transfers_started = engine_.transfers_started.value(),
          .pulls_served = engine_.pulls_served.value(),
          .checksum_errors = engine_.checksum_errors.value(),
          .connections_open = engine_.connections_open.value()};
}

void TcpData::Shutdown() {
  engine_.loop.Stop();
  // The loop is still: what is left belongs to this thread.
  engine_.sink = nullptr;
  transfers_.clear();
  folds_.clear();
  server_.CloseAll();
  peers_.CloseAllIdle();
}

}  // namespace

absl::StatusOr<std::unique_ptr<DataPlane>> ListenTcpData(
    const TcpDataOptions& options) {
  HOPLITE_ASSIGN_OR_RETURN(const HostPort listen,
                           HostPort::Parse(options.listen_address));
  HostPort advertised{options.advertise_host, 0};
  if (advertised.host.empty()) {
    if (listen.is_wildcard()) {
      return absl::InvalidArgumentError(absl::StrFormat(
          "%s listens on all interfaces: say which host name or address the "
          "other nodes reach this one by",
          options.listen_address));
    }
    advertised.host = listen.host;
  }
  RaiseDescriptorLimit();
  HOPLITE_ASSIGN_OR_RETURN(const int listener, OpenListener(listen));
  advertised.port = LocalEndpoint(listener).port();
  return std::make_unique<TcpData>(listener, advertised.ToString());
}

}  // namespace hoplite
