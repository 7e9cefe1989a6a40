// SocketLink is a Link over a socket: a FrameWriter, a FrameReader, and the
// handler that hears of it.
//
// Thread safety: as Link. Finish and what is Watched's: one thread at a time,
// the one that polls.

#ifndef HOPLITE_RAY_INTEGRATION_LINK_SOCKET_LINK_H_
#define HOPLITE_RAY_INTEGRATION_LINK_SOCKET_LINK_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "hoplite/runtime/socket_folder.h"
#include "ray_integration/link/event_set.h"
#include "ray_integration/link/frame_reader.h"
#include "ray_integration/link/frame_writer.h"
#include "ray_integration/link/link.h"
#include "ray_integration/link/poller_core.h"

namespace hoplite::task {

class SocketLink final : public Link,
                         public Watched,
                         public std::enable_shared_from_this<SocketLink> {
 public:
  explicit SocketLink(std::shared_ptr<PollerCore> core);

  using Link::Send;
  void Send(std::span<const absl::string_view> pieces) override;
  void Close() override;
  std::size_t unsent_bytes() const override { return writer_.unsent_bytes(); }

  // The poller keeps the link from now on, and the link `handler`. False:
  // the poller has been stopped, and OnClosed has been called.
  // REQUIRES: called once, before Stand and Finish.
  bool Start(std::shared_ptr<LinkHandler> handler);
  // Frames come and go from now on.
  void Stand(FileDescriptor socket);
  // Calls OnClosed, if nobody has, and lets go of all.
  void Finish(const absl::Status& why);
  // Finish, soon and on a polling thread. From any thread.
  void FinishLater(absl::Status why);
  // Close or Finish has been called.
  bool ended() const { return ended_.load(std::memory_order_relaxed); }

  void OnReady(std::uint32_t events) override;
  void OnStop() override;
  void Flush() override { writer_.Flush(); }

 private:
  void Receive();

  const std::shared_ptr<PollerCore> core_;
  const EventSet::Number number_;
  std::atomic<bool> ended_ = false;
  FrameWriter writer_;

  // Of the polling thread, once the link stands.
  int socket_ = -1;  // the writer owns it
  std::shared_ptr<LinkHandler> handler_;
  FrameReader reader_;
};

}  // namespace hoplite::task

#endif  // HOPLITE_RAY_INTEGRATION_LINK_SOCKET_LINK_H_
