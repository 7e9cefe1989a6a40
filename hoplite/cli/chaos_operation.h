// The model of one operation under faults: who is to call what, which ends of
// a call are right, and which bytes.
//
// A member that is hit by a fault owes nothing any more; the others finish.
// Whoever uses Hoplite puts again what died with its putter, asks again for
// what was lost, and has somebody else call a reduction whose caller is gone.
// So does this, with calls that all have the operation's one deadline:
//
//   a source       the putter is hit: another puts the same bytes again, until
//                  that is accepted (while its holder counts as alive it is
//                  kAlreadyExists)
//   a Get          ends with kDataLoss, or kUnavailable: once more
//   a reduction    its caller is hit: another calls; it is lost: once more
//
// Not responsible for: processes, faults, time; see chaos_cluster.h, chaos.h.
// Thread safety: none; one thread at a time.
// Units: bytes; nanoseconds of the steady clock.

#ifndef HOPLITE_CLI_CHAOS_OPERATION_H_
#define HOPLITE_CLI_CHAOS_OPERATION_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "hoplite/cli/bench_options.h"
#include "hoplite/cli/chaos_call.h"
#include "hoplite/cli/chaos_content.h"

namespace hoplite::cli {

struct ChaosPlan {
  Operation operation = Operation::kBroadcast;  // or reduce, or allreduce
  ChaosContent content;
  std::uint64_t bytes = 0;
  // Source i is first put by members[i]; a broadcast has source 0 only.
  // members[0] calls the reduction.
  std::vector<int> members;
  std::uint32_t count = 1;    // of sources that go in, of a reduction
  std::int64_t deadline = 0;  // of all calls
};

// How an end is judged.
enum class ChaosVerdict : std::uint8_t { kRight, kWrong, kPastDeadline };

class ChaosOperation {
 public:
  struct Order {
    int member = 0;
    ChaosCall call;
  };

  // REQUIRES: at least one member.
  explicit ChaosOperation(ChaosPlan plan);

  // The calls that are to be made now.
  std::vector<Order> Next(std::int64_t now);
  // A fault has hit somebody: errors are right from here on.
  void OnDisturbed() { disturbed_ = true; }
  // It has hit this member. Harmless for others than the operation's.
  void OnHit(int member);
  // A call of Next has ended. Not for those of processes that were killed.
  ChaosVerdict OnEnd(int member, const ChaosCall& call, const ChaosEnd& end,
                     std::int64_t now);

  // All that were not hit have what they wanted, or cannot get it.
  bool done() const;
  // Nothing more is wanted: its objects are being deleted.
  void Finish() { finished_ = true; }
  // It is done because nobody was left.
  bool abandoned() const { return Survivor(0) == members(); }
  bool disturbed() const { return disturbed_; }
  // Of all results so far: bytes that are not those of the sources that went
  // in, each once. Whole objects where readers got different ones.
  std::uint64_t wrong_bytes() const { return wrong_bytes_; }

  const ChaosPlan& plan() const { return plan_; }
  // Deletes all objects of the operation.
  ChaosCall DeleteCall(std::int64_t deadline) const;

 private:
  struct Source {
    std::size_t putter = 0;
    int tries = 0;
    bool calling = false;
    bool accepted = false;
    std::int64_t retry = 0;  // not before
  };
  struct Reader {
    bool wants = false;
    bool calling = false;
    bool hit = false;
    std::int64_t retry = 0;
  };
  struct Reduction {
    std::size_t caller = 0;
    int tries = 0;
    bool needed = false;
    bool calling = false;
    std::int64_t retry = 0;
  };

  std::size_t members() const { return plan_.members.size(); }
  std::optional<std::size_t> IndexOf(int member) const;
  // The first that was not hit, from `index` on and around; members() where
  // there is none.
  std::size_t Survivor(std::size_t index) const;
  ChaosCall NewCall(ChaosCallKind kind, std::size_t object) const;
  void OnPutEnd(std::size_t index, const ChaosCall& call, const ChaosEnd& end,
                std::int64_t now);
  void OnGetEnd(std::size_t index, const ChaosEnd& end, std::int64_t now);
  void OnReduceEnd(std::size_t index, const ChaosEnd& end, std::int64_t now);
  // The result is gone: it has to be made once more.
  void OnLost(std::int64_t now);
  void CheckWeight(const ChaosWeight& weight);
  ChaosVerdict Judge(std::size_t index, const ChaosCall& call,
                     absl::StatusCode code) const;

  const ChaosPlan plan_;
  const bool reduces_;
  std::vector<Source> sources_;
  std::vector<Reader> readers_;  // by member
  Reduction reduction_;
  bool disturbed_ = false;
  bool finished_ = false;
  bool lost_ = false;                  // another result may have been made
  std::optional<ChaosWeight> weight_;  // of the result, once somebody knows
  std::uint64_t wrong_bytes_ = 0;
};

}  // namespace hoplite::cli

#endif  // HOPLITE_CLI_CHAOS_OPERATION_H_
