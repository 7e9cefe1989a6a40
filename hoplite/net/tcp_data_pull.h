// Pull gets one range of bytes from a server: it finds a connection, asks, and
// reads the frames to where its owner wants them.
//
// A new connection tries each address of the server in turn until one answers
// as that server. A pooled one may have been closed by the server meanwhile:
// then a new one is opened.
//
// Not responsible for: trying again once the server has spoken.
// Thread safety: none; for the loop's thread.

#ifndef HOPLITE_NET_TCP_DATA_PULL_H_
#define HOPLITE_NET_TCP_DATA_PULL_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/strings/string_view.h"
#include "hoplite/net/tcp_data_engine.h"
#include "hoplite/net/tcp_data_peers.h"
#include "hoplite/net/tcp_data_reader.h"
#include "hoplite/wire/frame.h"

namespace hoplite {

class Pull final : private Watch::Handler,
                   private EventLoop::Deferred,
                   private Peers::Asker {
 public:
  enum class End {
    kDone,
    kRefused,  // the server said no
    kBroken,   // it is not reached, or the stream has broken
  };
  class Owner : public FrameReader::Sink {
   public:
    // Called once, unless the pull's life ends before; may end it, but by
    // EventLoop::DestroyLater.
    virtual void OnPullEnded(End end) = 0;

   protected:
    ~Owner() = default;
  };

  // REQUIRES: request.begin < request.size. The engine, the peers and the
  // owner outlive this.
  Pull(DataEngine& engine, Peers& peers, const PullRequest& request,
       NodeRef server, Owner& owner);
  // Cuts the stream where it is still under way.
  ~Pull() override;

  // REQUIRES: called once.
  void Start();
  // The owner has room for more.
  void ResumeReading();
  // The stream is cut, and the owner hears no more. Destroying it does so too,
  // but may come later.
  void Cut();
  // Once a second: gives up on an address that does not answer, and on a
  // server that says nothing, not even that it has nothing to send. True where
  // it is wanted again.
  bool OnTick();

  NodeRef server() const { return server_; }
  const PullRequest& request() const { return request_; }
  // True: the server has had nothing to send for a while.
  bool starved() const { return reader_.starved(); }

 private:
  void OnReadable() override;
  void OnWritable() override;
  void RunDeferred() override { OnReadable(); }
  void OnEndpoints(const std::vector<Endpoint>& endpoints) override;
  void OnUnreachable() override { Finish(End::kBroken); }

  void ConnectToNext();
  void Ask(bool with_hello);
  void OnBroken();
  // Why the server is not reached, or breaks off, as far as is known.
  void Note(absl::string_view trouble);
  void Finish(End end);

  DataEngine& engine_;
  Peers& peers_;
  const PullRequest request_;
  const NodeRef server_;
  Owner& owner_;
  FrameReader reader_;

  bool ended_ = false;
  bool no_room_ = false;
  bool pooled_ = false;
  bool connecting_ = false;
  double connecting_since_ = 0;
  // Ticks, and not time: who has been stopped himself blames nobody.
  int silent_ticks_ = 0;
  std::vector<Endpoint> endpoints_;
  std::size_t next_endpoint_ = 0;
  std::unique_ptr<Connection> connection_;
};

}  // namespace hoplite

#endif  // HOPLITE_NET_TCP_DATA_PULL_H_
