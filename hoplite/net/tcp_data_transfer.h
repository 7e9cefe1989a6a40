// Transfer fills a buffer from a server: what StartTransfer orders.
//
// Thread safety: none; for the loop's thread.

#ifndef HOPLITE_NET_TCP_DATA_TRANSFER_H_
#define HOPLITE_NET_TCP_DATA_TRANSFER_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "hoplite/core/command.h"
#include "hoplite/net/data_plane.h"
#include "hoplite/net/tcp_data_pull.h"

namespace hoplite {

class Transfer final : private Pull::Owner {
 public:
  // `on_ended` is called once, unless its life ends before; it may end it, but
  // by EventLoop::DestroyLater. REQUIRES: the buffer is not complete; nobody
  // else writes it.
  Transfer(DataEngine& engine, Peers& peers,
           const command::StartTransfer& order, BufferPtr buffer,
           std::function<void(Transfer&, Pull::End)> on_ended);

  void Start() { pull_.Start(); }
  // Nobody hears of its end any more.
  void Cut() { pull_.Cut(); }
  bool OnTick() { return pull_.OnTick(); }

  TransferId id() const { return pull_.request().transfer; }
  NodeRef server() const { return pull_.server(); }
  std::uint64_t received() const { return buffer_->watermark(); }
  // What the link gave, in bytes per second; 0: too little came to tell, or
  // the server had nothing to send for a while.
  double Bandwidth() const;

 private:
  std::byte* Place(std::uint64_t offset, std::uint32_t length) override;
  void OnFrame(const FrameHeader& header) override;
  void OnPullEnded(Pull::End end) override { on_ended_(*this, end); }

  DataEngine& engine_;
  const BufferPtr buffer_;
  const std::function<void(Transfer&, Pull::End)> on_ended_;
  Pull pull_;
  // For a first frame of which the buffer has a part already, which others
  // may be reading.
  std::vector<std::byte> overlap_;
  double first_frame_at_ = 0;  // 0: none yet
  std::uint64_t bytes_after_first_frame_ = 0;
};

}  // namespace hoplite

#endif  // HOPLITE_NET_TCP_DATA_TRANSFER_H_
