// Peers knows the members of the cluster that a data plane talks to: which
// lives are over, where each is reached, and the idle connections to it.
//
// Thread safety: none; for the loop's thread.

#ifndef HOPLITE_NET_TCP_DATA_PEERS_H_
#define HOPLITE_NET_TCP_DATA_PEERS_H_

#include <list>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "hoplite/core/event.h"
#include "hoplite/net/tcp_data_address.h"
#include "hoplite/net/tcp_data_engine.h"

namespace hoplite {

class Peers {
 public:
  // Who wants to know where a peer is.
  class Asker {
   public:
    virtual void OnEndpoints(const std::vector<Endpoint>& endpoints) = 0;
    // The peer is dead, or its address leads nowhere.
    virtual void OnUnreachable() = 0;

   protected:
    ~Asker() = default;
  };

  // The engine outlives this, and this the run of its loop.
  explicit Peers(DataEngine& engine);
  ~Peers();
  Peers(const Peers&) = delete;
  Peers& operator=(const Peers&) = delete;

  // Its address; those who asked before hear it now. Its node's lives before
  // are over.
  void Learn(const Member& member);
  // Its life is over: it is neither called nor answered any more, and nor is
  // any life that came before on that node.
  void Forget(NodeRef member);
  // False: a life that is known to be over.
  bool MayCall(NodeRef member) const;

  // Answers by one call of the asker, at once or later: after Learn, where
  // the peer is not known yet, and when its name is resolved.
  void Find(NodeRef server, Asker& asker);
  // The asker is not called any more.
  void StopAsking(Asker& asker);
  // None of the endpoints has led to the peer: its name is resolved again
  // when somebody asks again.
  void DropEndpoints(NodeRef server);

  // An idle connection to the peer, or nullptr.
  std::unique_ptr<Connection> TakeIdle(NodeRef server);
  // Keeps a connection for the next pull from the peer.
  void PutIdle(NodeRef server, std::unique_ptr<Connection> connection);
  // False: there is none.
  bool CloseOldestIdle();
  void CloseAllIdle() { idle_.clear(); }
  // Closes what has been idle for long; true where some are left.
  bool OnTick();

 private:
  class IdleConnection;
  struct Resolver;
  struct Peer {
    std::string address;  // empty: not learned yet
    std::vector<Endpoint> endpoints;
    bool resolving = false;
    std::vector<Asker*> askers;
  };

  void MarkOver(NodeRef member);
  void ResolvePeer(NodeRef server, Peer& peer);
  // Errors: why there is none.
  void OnResolved(NodeRef server,
                  absl::StatusOr<std::vector<Endpoint>> endpoints);
  void Answer(NodeRef server);
  void RemoveIdle(IdleConnection& connection);

  DataEngine& engine_;
  const std::shared_ptr<Resolver> resolver_;
  std::map<NodeRef, Peer> peers_;
  // The last life of each node that is over.
  std::map<NodeId, Incarnation> over_;
  std::list<std::shared_ptr<IdleConnection>> idle_;  // the oldest first
};

}  // namespace hoplite

#endif  // HOPLITE_NET_TCP_DATA_PEERS_H_
