// CommandExecutor carries out the commands of a node's machine with the
// control transport, the data plane, the store and the kernels.
//
// It holds the buffers that the machine has created, in the order of their
// use. A buffer that anybody else holds, be it a client that reads it or an
// order of the data plane, is pinned: it is not offered for eviction. Folds of
// many bytes in memory are done by a thread of their own.
//
// Not responsible for: when it is called, and by whom (ControlLoop).
// Thread safety: none, one thread at a time; but the counters.
// Units: bytes.

#ifndef HOPLITE_RUNTIME_COMMAND_EXECUTOR_H_
#define HOPLITE_RUNTIME_COMMAND_EXECUTOR_H_

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "hoplite/core/command.h"
#include "hoplite/core/event.h"
#include "hoplite/core/node_status.h"
#include "hoplite/net/control_transport.h"
#include "hoplite/net/data_plane.h"
#include "hoplite/net/heartbeats.h"
#include "hoplite/runtime/background_thread.h"
#include "hoplite/runtime/client_requests.h"
#include "hoplite/runtime/head_seeker.h"
#include "hoplite/runtime/membership_notifier.h"
#include "hoplite/store/eviction.h"
#include "hoplite/store/object_store.h"

namespace hoplite {

class CommandExecutor {
 public:
  struct Parts {
    ClusterId cluster;
    NodeRef self;
    ControlTransport* control = nullptr;
    DataPlane* data = nullptr;
    ObjectStore* store = nullptr;
    ClientRequests* requests = nullptr;
    Heartbeats* heartbeats = nullptr;  // null: silence is not noticed
    HeadSeeker* seeker = nullptr;
    MembershipNotifier* membership = nullptr;  // null: nobody wants to know
    // Ends this life of the node, soon; not from here.
    std::function<void(const command::EndLife&)> end_life;
    // Takes the events that come of commands; never runs the machine at once.
    std::function<void(Event)> deliver;
  };
  // Ownership: what `parts` points to outlives this.
  explicit CommandExecutor(Parts parts);

  // Carries out the commands in order; does not block.
  void Execute(const Commands& commands);
  // Writes into it how much of each buffer is here.
  void FillBytes(NodeStatus& status) const;

  // True from the first time that a buffer found no room: whoever frees some
  // must say RoomFreed. May be asked by any thread.
  bool room_was_refused() const { return room_was_refused_; }
  std::uint64_t messages_sent() const { return messages_sent_; }
  std::uint64_t inline_bytes_sent() const { return inline_bytes_sent_; }

  // Ends the thread for folds, and lets all buffers go.
  void Stop();

 private:
  void Do(const command::Send& send);
  void Do(const command::Admit& admit);
  void Do(const command::RefuseReturn& refuse);
  void Do(const command::SeekHead& seek);
  void Do(const command::EndLife& end);
  void Do(const command::LearnMember& learn);
  void Do(const command::ForgetMember& forget);
  void Do(const command::CreateBuffer& create);
  void Do(const command::ReleaseBuffer& release);
  void Do(const command::StartTransfer& start);
  void Do(const command::CancelTransfer& cancel);
  void Do(const command::ServePull& serve);
  void Do(const command::RefusePull& refuse);
  void Do(const command::StartFold& start);
  void Do(const command::CancelFold& cancel);
  void Do(const command::FoldPayloads& fold);
  void Do(const command::HandBuffer& hand);
  void Do(const command::AnswerRequest& answer);
  void Fail(command::AnswerRequest answer);

  // 0 where it is none, or was released.
  std::uint64_t Watermark(BufferId id) const;
  BufferPtr TryAllocate(BufferId id, std::uint64_t size);
  void RefuseBuffer(const command::CreateBuffer& create);
  // REQUIRES: the machine has created it, and not released it.
  const BufferPtr& Find(BufferId id) const;
  std::string AddressOf(NodeRef member) const;

  const Parts parts_;

  absl::flat_hash_map<BufferId, BufferPtr> buffers_;
  LruOrder order_of_use_;
  // Where members are, for messages to people; the forgotten ones stay for a
  // while.
  absl::flat_hash_map<NodeRef, Member> members_;
  std::deque<NodeRef> forgotten_;

  std::atomic<bool> room_was_refused_ = false;
  std::atomic<std::uint64_t> messages_sent_ = 0;
  std::atomic<std::uint64_t> inline_bytes_sent_ = 0;

  BackgroundThread folder_;  // last: its work uses the rest
};

}  // namespace hoplite

#endif  // HOPLITE_RUNTIME_COMMAND_EXECUTOR_H_
