// NodeLife is one life of a node: its machine, and all that the machine holds
// or acts by, from the moment that it is a member until it is none.
//
// Thread safety: thread-safe, but for Start, which comes first.

#ifndef HOPLITE_RUNTIME_NODE_LIFE_H_
#define HOPLITE_RUNTIME_NODE_LIFE_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "hoplite/base/mutex.h"
#include "hoplite/core/node.h"
#include "hoplite/net/control_transport.h"
#include "hoplite/net/data_plane.h"
#include "hoplite/net/heartbeats.h"
#include "hoplite/runtime/client_requests.h"
#include "hoplite/runtime/client_service.h"
#include "hoplite/runtime/command_executor.h"
#include "hoplite/runtime/control_loop.h"
#include "hoplite/runtime/event_recorder.h"
#include "hoplite/runtime/head_seeker.h"
#include "hoplite/runtime/membership_notifier.h"
#include "hoplite/runtime/node_options.h"
#include "hoplite/runtime/node_report.h"
#include "hoplite/runtime/request_port.h"
#include "hoplite/runtime/transfer_log.h"
#include "hoplite/store/object_store.h"

namespace hoplite {

// What a node reaches others by; all listen already.
struct Transports {
  std::unique_ptr<ControlTransport> control;
  std::unique_ptr<DataPlane> data;
  std::unique_ptr<Heartbeats> heartbeats;  // or null: silence is not noticed
};

class NodeLife final : private LoopBody {
 public:
  using OnEnd = std::function<void(const command::EndLife&)>;

  struct Setting {
    NodeOptions options;
    Welcome welcome;
    bool returns = false;  // the head of a cluster that had one before
    std::uint64_t last_request = 0;            // of the lives before
    EventRecorder* recorder = nullptr;         // or null; outlives the life
    MembershipNotifier* membership = nullptr;  // likewise
    // Called once, from a thread that must not be kept, when the machine ends
    // this life.
    OnEnd on_end;
  };

  NodeLife(Setting setting, Transports transports,
           std::unique_ptr<ObjectStore> store);
  // As Stop does.
  ~NodeLife() override;

  // Takes part, and, where the options say so, serves clients, who ask `port`.
  // Errors: as of ClientService::Listen. Ownership: `port` outlives this.
  absl::Status Start(RequestPort* port);
  // Answers every request so, leaves the cluster and ends all connections;
  // takes at most a second or two. REQUIRES: not called by a RequestObserver.
  void Stop(absl::StatusCode code, std::string why);

  void Submit(Event event, std::shared_ptr<RequestObserver> observer);
  void Deliver(Event event) { loop_.Deliver(std::move(event)); }
  RequestId NewRequest() { return requests_.NewRequest(); }
  NodeReport Report();
  std::vector<TransferRecord> Transfers();
  std::string control_address() const { return transports_.control->address(); }
  std::string socket_path() const;

 private:
  void Run(absl::Time now, std::vector<Event>& batch) override;
  std::optional<absl::Time> NextTimeout() override {
    return ended_ ? std::nullopt : node_.NextTimeout();
  }
  // Handles, and records where that is wanted.
  void Handle(absl::Time now, const Event& event);
  void HandleTimeout(absl::Time now);
  NodeCounters Counters() const;

  // The order of the members is the order in which they need each other.
  const Setting setting_;
  const NodeRef self_;
  const std::unique_ptr<ObjectStore> store_;
  const Transports transports_;
  ClientRequests requests_;
  std::atomic<std::uint64_t> events_handled_ = 0;
  std::atomic<bool> room_freed_waits_ = false;
  HeadSeeker seeker_;

  // Owned by whoever runs the machine.
  Node node_;
  Commands commands_;
  bool ended_ = false;
  CommandExecutor executor_;
  TransferLog transfer_log_;

  ControlLoop loop_;
  std::unique_ptr<ClientService> clients_;  // null: it serves none

  Mutex stop_mutex_;
  bool stopped_ ABSL_GUARDED_BY(stop_mutex_) = false;
};

}  // namespace hoplite

#endif  // HOPLITE_RUNTIME_NODE_LIFE_H_
