// What a shard knows of one object: its generation, its copies, and who waits.
//
// The copies form a forest: each partial copy names its server, and the chain
// of servers ends at a complete copy or at the producer. A copy serves at most
// `degree` receivers at a time.
//
// Not responsible for: messages (object_directory.h); choosing a server
// (hoplite/core/broadcast/server_selector.h).
// Thread safety: none; one thread at a time.

#ifndef HOPLITE_CORE_DIRECTORY_OBJECT_RECORD_H_
#define HOPLITE_CORE_DIRECTORY_OBJECT_RECORD_H_

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/time/time.h"
#include "hoplite/base/id.h"
#include "hoplite/base/payload.h"
#include "hoplite/core/message.h"

namespace hoplite {

// How many receivers each node serves, over all objects of a node's shards.
using ServingLoads = absl::btree_map<NodeId, std::uint32_t>;

// An object's bytes on a node.
struct Copy {
  NodeRef node;
  bool complete = false;
  bool producer = false;       // new bytes arise here until it is complete
  bool confirmed = false;      // its node has said that it is complete
  std::uint32_t serving = 0;   // receivers that it was granted to and still has
  NodeRef server;              // whom it fetches from, or none
  AskNumber ask;               // of its grant
  std::uint64_t sequence = 0;  // of its grant: lower ones end sooner
};

struct ObjectRecord {
  struct WaitingAsk {
    NodeRef node;
    AskNumber ask;
    NodeRef lost;  // a server that has failed it, or none
  };
  // A reduction that has this object among its sources.
  struct Watcher {
    ObjectId target;
    NodeRef coordinator;
    NodeRef holder;  // that it was told of, and counts on; or none
    std::vector<NodeRef> avoid = {};  // that it cannot count on

    bool Is(const ObjectId& of, NodeRef at) const {
      return target == of && coordinator == at;
    }
    // It takes the holder that it is told first, and the next one only when
    // it has been told that there is none.
    void Hear(NodeRef told) { holder = holder && told ? holder : told; }
  };

  Generation generation;  // none: nobody has put it yet
  std::uint64_t size = 0;
  std::uint64_t frame_bytes = 0;
  std::uint32_t degree = 1;
  bool sealed = false;
  bool final = false;
  bool streams = false;
  Payload payload;                     // one more copy, of a small object
  std::uint64_t payload_sequence = 0;  // older ones go first
  absl::btree_map<NodeId, Copy> copies;
  std::deque<WaitingAsk> waiting;
  // Puts that wait for the first one's Seal or end.
  std::deque<std::pair<NodeRef, message::PutBegun>> puts;
  std::vector<Watcher> watchers;
  // Deleted: the tombstone stands; who asked, and who has yet to drop it.
  bool deleted = false;
  absl::Time deleted_at;
  std::vector<std::pair<NodeRef, RequestId>> deleters;
  std::vector<std::pair<NodeRef, RequestId>> deleted_for;  // and were told so
  std::vector<std::pair<NodeRef, Generation>> dropping;

  bool exists() const { return static_cast<bool>(generation); }
  // A source that is ready may take a position in a reduction.
  bool ready() const { return exists() && (sealed || streams); }
  // Nothing here: the record may go.
  bool empty() const {
    return !exists() && waiting.empty() && puts.empty() && watchers.empty() &&
           !deleted;
  }
  // Some holder has every byte, or will have. What was never sealed has a
  // writer, else it never was.
  bool recoverable() const;

  Copy* Find(NodeRef node);
  // The node's copy, new where there is none. Whoever was granted an earlier
  // one and has not been heard of since is served by this one.
  Copy& Add(NodeRef node, ServingLoads& loads);
  // The copy fetches from `server`, which has a slot less.
  void TakeServer(Copy& copy, Copy& server, ServingLoads& loads);
  // Ends whatever the copy fetches: its server has a slot again.
  void FreeServer(Copy& copy, ServingLoads& loads);
  // Strikes a copy. Whoever it served names it until heard of again.
  void Erase(NodeRef node, ServingLoads& loads);
  void RemoveWaiting(NodeRef node);
  // Strikes all that a lost node held, made or waited for.
  void Forget(NodeRef node, ServingLoads& loads);
  // Forgets the bytes, keeps who waits.
  void Reset(ServingLoads& loads);

  // Empty where the invariants hold: no cycle, bounds held.
  std::string CheckInvariants() const;
};

}  // namespace hoplite

#endif  // HOPLITE_CORE_DIRECTORY_OBJECT_RECORD_H_
