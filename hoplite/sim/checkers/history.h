// What clients have asked, and what they were told: the ground on which
// checkers judge.
//
// Thread safety: none; one thread at a time.

#ifndef HOPLITE_SIM_CHECKERS_HISTORY_H_
#define HOPLITE_SIM_CHECKERS_HISTORY_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "hoplite/base/id_prefix.h"
#include "hoplite/core/event.h"
#include "hoplite/sim/client_model.h"
#include "hoplite/sim/content.h"
#include "hoplite/sim/observer.h"

namespace hoplite::sim {

struct RequestRecord {
  enum class Kind : std::uint8_t { kPut, kGet, kDelete, kReduce };

  Kind kind = Kind::kGet;
  ObjectId object;  // or the target
  absl::Time asked;
  absl::Time deadline = absl::InfiniteFuture();
  std::uint64_t size = 0;         // of a Put
  bool inlined = false;           // a Put with its payload
  bool streams = false;           // a Put that is read before its Seal
  bool filled = false;            // a Put whose bytes are all written
  bool cancelled = false;         // by its client
  event::ReduceRequested reduce;  // of a Reduce
  std::optional<absl::Time> answered;
  absl::StatusCode code = absl::StatusCode::kUnknown;
};

class History final : public Observer {
 public:
  // Ownership: keeps `contents`.
  explicit History(const ContentTable* contents) : contents_(contents) {}

  // Null where nobody asked so.
  const RequestRecord* Find(RequestKey key) const;
  // All requests of one kind that name the object, in the order asked.
  std::vector<RequestKey> On(const ObjectId& object,
                             RequestRecord::Kind kind) const;
  // By a client, or by the end of its id's prefix.
  bool DeleteAsked(const ObjectId& object) const;
  // True where a Delete of the object was answered with success before `time`.
  bool DeletedBefore(const ObjectId& object, absl::Time time) const;
  // True where bytes of this content may be found under this id: of a Put of
  // it, or a result for it, whole or partial.
  bool MayStandFor(const ObjectId& object, ContentId content) const;
  // The sources of `reduce` that the elements of a result stand for, sorted;
  // nullopt where an element is none of them, or is there twice.
  std::optional<std::vector<ObjectId>> SourcesOf(
      const event::ReduceRequested& reduce, ContentId result) const;
  // Requests asked and not answered.
  const std::set<RequestKey>& open() const { return open_; }

  void OnEvent(absl::Time now, NodeRef node, const Event& event) override;
  void OnCommand(absl::Time now, NodeRef node, const Command& command) override;
  void OnNodeDown(absl::Time now, NodeRef node) override;

 private:
  void Enter(NodeRef node, RequestId request, RequestRecord record);
  // Of a request that the node has heard of: one that stood still when it was
  // asked, and was declared dead, has not.
  void Note(NodeRef node, RequestId request, bool RequestRecord::*what);
  // `depth` bounds the search through reductions of reductions.
  bool MayStandFor(const ObjectId& object, ContentId content, int depth) const;

  const ContentTable* const contents_;
  std::map<RequestKey, RequestRecord> requests_;
  std::map<ObjectId, std::vector<RequestKey>> by_object_;
  std::set<RequestKey> open_;
  std::set<IdPrefix> ended_prefixes_;
};

}  // namespace hoplite::sim

#endif  // HOPLITE_SIM_CHECKERS_HISTORY_H_
