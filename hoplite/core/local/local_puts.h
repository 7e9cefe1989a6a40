// The Puts of this node's clients, from request to Seal.
//
// A Put takes room, registers with its shard, and is installed among the local
// objects when it is accepted; it is answered when it is accepted and sealed.
//
// Thread safety: none; one thread at a time.

#ifndef HOPLITE_CORE_LOCAL_LOCAL_PUTS_H_
#define HOPLITE_CORE_LOCAL_LOCAL_PUTS_H_

#include <optional>
#include <string>

#include "absl/container/btree_map.h"
#include "hoplite/core/broadcast/transfer_plan.h"
#include "hoplite/core/local/local_objects.h"
#include "hoplite/core/local/node_context.h"

namespace hoplite {

class LocalPuts {
 public:
  explicit LocalPuts(LocalObjects& objects) : objects_(objects) {}

  void OnPut(NodeContext& context, const event::PutRequested& put);
  void OnFilled(NodeContext& context, RequestId request);
  // Deadline or cancel: a Put that is not sealed never was. One whose bytes
  // went along when it registered is answered, and goes on: it may be accepted
  // already.
  void EndPut(NodeContext& context, RequestId request, absl::StatusCode code,
              std::string detail);
  // Returns how long another node took to answer, where it did at once.
  std::optional<absl::Duration> OnAnswer(NodeContext& context,
                                         const message::PutAnswer& answer);
  // An accepted Put whose object was deleted, or refused, meanwhile.
  void OnDrop(NodeContext& context, const message::Drop& drop);
  // What is unanswered is asked again of these shards' (new) hosts.
  void Resend(NodeContext& context, const ShardSet& shards);
  // The Puts of these shards that are not sealed.
  void AppendHoldings(const ShardSet& shards, HoldingsByShard& holdings) const;

  void OnBufferCreated(NodeContext& context, RequestId request);
  void OnBufferRefused(NodeContext& context, RequestId request,
                       std::uint64_t capacity);
  // There may be room now.
  void TryAgain(NodeContext& context, RequestId request);

  // A Put of this generation is under way here.
  bool IsPutting(const ObjectId& object, Generation generation) const;
  void SetLink(const LinkEstimate& link) { link_ = link; }

 private:
  struct LocalPut {
    ObjectId object;
    Generation generation;
    std::uint64_t size = 0;
    Payload payload;
    bool streams = false;
    BufferId buffer;
    bool has_buffer = false;
    bool filled = false;
    bool accepted = false;
    absl::Time registered;  // when the shard was told, the last time
  };
  using Puts = absl::btree_map<RequestId, LocalPut>;

  void Register(NodeContext& context, LocalPut& put);
  void FinishIfDone(NodeContext& context, Puts::iterator it);
  void End(NodeContext& context, Puts::iterator it, absl::StatusCode code,
           std::string detail);
  // To the client, unless it was answered before.
  void Answer(NodeContext& context, RequestId request, const LocalPut& put,
              absl::StatusCode code, std::string detail);
  Puts::iterator Find(const ObjectId& object, Generation generation);

  LocalObjects& objects_;
  Puts puts_;
  LinkEstimate link_;
  std::uint64_t counter_ = 0;
};

}  // namespace hoplite

#endif  // HOPLITE_CORE_LOCAL_LOCAL_PUTS_H_
