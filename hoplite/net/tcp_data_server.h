// PullServer is the side of a data plane that peers pull from: it accepts
// connections, checks who calls, tells the core what is asked for, and streams
// what the core grants.
//
// A connection carries one pull at a time. One that waits for its answer, or
// for the next pull, is a file descriptor and nothing else.
//
// Thread safety: none; for the loop's thread.

#ifndef HOPLITE_NET_TCP_DATA_SERVER_H_
#define HOPLITE_NET_TCP_DATA_SERVER_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>

#include "hoplite/net/data_plane.h"
#include "hoplite/net/tcp_data_engine.h"
#include "hoplite/net/tcp_data_peers.h"
#include "hoplite/wire/frame.h"

namespace hoplite {

class PullServer final : private Watch::Handler {
 public:
  // Takes the listening socket over. All of them outlive this.
  PullServer(DataEngine& engine, const Peers& peers, int listener);
  ~PullServer();
  PullServer(const PullServer&) = delete;
  PullServer& operator=(const PullServer&) = delete;

  // Accepts from now on.
  void Start() { listener_->WaitReadable(); }
  // Closes everything, and says nothing of it.
  void CloseAll();
  void Serve(PullId pull, BufferPtr buffer);
  void Refuse(PullId pull);
  // Cuts every connection of those who may not call any more.
  void CutForgotten();
  // Once a second; true where it is wanted again.
  bool OnTick();

 private:
  class ServedConnection;
  friend class ServedConnection;

  void OnReadable() override;
  void OnWritable() override {}

  bool Accepts(const Hello& hello) const;
  // nullptr: no such pull any more.
  std::shared_ptr<ServedConnection> Find(PullId pull) const;
  PullId AddPull(ServedConnection& connection, const PullRequest& request);
  void EndPull(PullId pull);
  void Remove(ServedConnection& connection);
  bool CloseOneIdle();

  DataEngine& engine_;
  const Peers& peers_;
  std::optional<Watch> listener_;  // until CloseAll
  bool exhausted_ = false;         // accepts nothing until something has ended
  std::uint64_t last_connection_ = 0;
  PullId last_pull_;
  // By order of arrival.
  std::map<std::uint64_t, std::shared_ptr<ServedConnection>> connections_;
  std::map<PullId, std::uint64_t> pulls_;  // to connections
};

}  // namespace hoplite

#endif  // HOPLITE_NET_TCP_DATA_SERVER_H_
