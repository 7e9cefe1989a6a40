// FoldStream makes one position's output of a reduction, frame by frame: what
// StartFold orders.
//
// Inputs of other nodes are pulled into a small window each; TCP's own
// back-pressure holds them when another input is behind. Inputs here are
// followed by their watermark. As soon as every input has a frame, one call
// of the kernel folds it into the output, while it is in the cache.
//
// Thread safety: none; for the loop's thread.

#ifndef HOPLITE_NET_TCP_DATA_FOLD_H_
#define HOPLITE_NET_TCP_DATA_FOLD_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "hoplite/core/command.h"
#include "hoplite/kernels/fold.h"
#include "hoplite/net/data_plane.h"
#include "hoplite/net/tcp_data_engine.h"
#include "hoplite/net/tcp_data_peers.h"

namespace hoplite {

class FoldStream final : public std::enable_shared_from_this<FoldStream>,
                         private BufferFollower::Owner,
                         private EventLoop::Deferred {
 public:
  // `on_ended` is called once, with the member whose input failed, or none
  // where the fold is done; unless its life ends before. It may end it, but by
  // EventLoop::DestroyLater.
  using OnEnded = std::function<void(FoldStream&, NodeRef lost)>;

  // `locals[i]` is the buffer of order.inputs[i], or null: it is pulled.
  // REQUIRES: all buffers have order.size bytes, which are not 0; owned by a
  // shared_ptr; nobody else writes the output, whose watermark is 0.
  FoldStream(DataEngine& engine, Peers& peers, const command::StartFold& order,
             BufferPtr output, BufferPtr own, std::vector<BufferPtr> locals,
             OnEnded on_ended);
  ~FoldStream() override;

  // REQUIRES: called once.
  void Start();
  // Every input is let go, and nobody hears of its end any more.
  void Cut();
  // Once a second; true where it is wanted again.
  bool OnTick();

  FoldId id() const { return order_.fold; }
  bool PullsFrom(NodeRef member) const;
  // Ends it, for want of this member's input. REQUIRES: lost is not none.
  void Fail(NodeRef lost) { End(lost); }

 private:
  class RemoteInput;
  struct Input {
    NodeRef member;
    BufferPtr buffer;  // null: remote
    std::unique_ptr<BufferFollower> follower;
    std::unique_ptr<RemoteInput> remote;

    std::uint64_t available() const;
    std::span<const std::byte> Frame(std::uint64_t offset,
                                     std::uint64_t length) const;
  };

  void AddInput(NodeRef member, BufferPtr buffer);
  void AddRemoteInput(const command::FoldInput& input, std::size_t index);
  void OnBufferChanged() override { FoldReady(); }
  void RunDeferred() override { FoldReady(); }

  void FoldReady();
  bool FoldFrame();
  void WaitForInputs();
  void End(NodeRef lost);

  DataEngine& engine_;
  Peers& peers_;
  const command::StartFold order_;
  const FoldSpec spec_;
  const std::uint32_t frame_bytes_;
  const BufferPtr output_;
  // A reduction of one source: its target is the source, bytes and all, and
  // is done when that is.
  const bool only_follows_;
  const OnEnded on_ended_;

  bool ended_ = false;
  std::uint64_t folded_ = 0;  // the output's watermark
  std::vector<Input> inputs_;
  std::vector<std::span<const std::byte>> frames_;  // of the present fold
};

}  // namespace hoplite

#endif  // HOPLITE_NET_TCP_DATA_FOLD_H_
