// TransferLog remembers what has been pulled into this node: for traces.
//
// It looks on at what goes into a node's machine and what comes out of it: the
// orders to pull, and how they ended. The inputs that a fold pulls count, too,
// one by one. The last transfers are kept, as many as kTransfersKept.
//
// Not responsible for: bytes that travel inside of messages.
// Thread safety: none, one thread at a time.
// Units: bytes.

#ifndef HOPLITE_RUNTIME_TRANSFER_LOG_H_
#define HOPLITE_RUNTIME_TRANSFER_LOG_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/time/time.h"
#include "hoplite/base/id.h"
#include "hoplite/core/command.h"
#include "hoplite/core/event.h"

namespace hoplite {

// About a megabyte of them.
inline constexpr std::size_t kTransfersKept = 16384;

// One pull into this node, from its order to its end.
struct TransferRecord {
  ObjectId object;  // of an input of a fold: the reduction's target
  NodeRef server;
  std::uint64_t bytes = 0;  // that came; of a broken fold: unknown, 0
  absl::Time started;
  absl::Time ended;
  bool is_input = false;  // of a fold
  bool failed = false;
};

class TransferLog {
 public:
  void Saw(absl::Time now, const Command& command);
  void Saw(absl::Time now, const Event& event);

  // Those that have ended, in that order.
  std::vector<TransferRecord> Records() const;

 private:
  void Ended(absl::Time now, TransferId id, const event::TransferFailed* why);
  void Ended(absl::Time now, FoldId id, bool failed);
  void Keep(absl::Time now, TransferRecord record);

  struct Pull {
    TransferRecord record;
    std::uint64_t begin = 0;
  };
  absl::flat_hash_map<TransferId, Pull> pulls_;
  absl::flat_hash_map<FoldId, std::vector<TransferRecord>> folds_;
  std::deque<TransferRecord> kept_;
};

}  // namespace hoplite

#endif  // HOPLITE_RUNTIME_TRANSFER_LOG_H_
