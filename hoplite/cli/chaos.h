// Chaos: a workload on emulated hosts whose nodes are killed, stopped, started
// again and cut off meanwhile, and a model that says what is right.
//
// One operation is in hand at a time. When all of its members that were not
// hit have their results, the next one begins; its objects are deleted, once
// more where a member that was hit comes late. Storms of faults alternate with
// calms, in which the time of an operation without a fault is measured.
//
// Thread safety: none; one thread at a time.

#ifndef HOPLITE_CLI_CHAOS_H_
#define HOPLITE_CLI_CHAOS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "hoplite/base/random.h"
#include "hoplite/cli/chaos_cluster.h"
#include "hoplite/cli/chaos_faults.h"
#include "hoplite/cli/chaos_operation.h"
#include "hoplite/cli/chaos_options.h"
#include "hoplite/cli/chaos_result.h"

namespace hoplite::cli {

class Chaos {
 public:
  // Starts the cluster. REQUIRES: Validate(options).ok().
  // Errors: of the testbed, or of a node that cannot be started.
  static absl::StatusOr<std::unique_ptr<Chaos>> Create(
      const ChaosOptions& options);

  // All of it. Once.
  // Errors: kInternal: a node that no fault had hit has ended, or one could
  // not be started again, or the cluster did not become whole at the end.
  absl::StatusOr<ChaosResult> Run();

 private:
  struct Work {
    ChaosOperation operation;
    std::int64_t begun = 0;
    std::vector<std::pair<ChaosFault, std::int64_t>> faults;
    int open_calls = 0;
    // Once it is done:
    bool deleting = false;
    bool deleted = false;
    bool late = false;  // a call has ended since the Delete began
    std::uint64_t deletes = 0;
    std::int64_t retry = 0;
  };
  struct OpenCall {
    std::uint64_t work = 0;
    int host = 0;
    ChaosCall call;
    bool hit = false;  // the host, since the call was made
  };

  Chaos(const ChaosOptions& options, std::unique_ptr<ChaosCluster> cluster);

  // Goes on until `over` or the time, with faults or without.
  absl::Status WorkUntil(std::int64_t until, bool faults,
                         const std::function<bool()>& over);
  absl::Status Tick(bool faults);
  absl::Status MaybeHit(std::int64_t now);
  void OnHit(int host, bool killed);
  void BeginOperation(std::int64_t now);
  void MakeCall(std::uint64_t work, int host, const ChaosCall& call);
  void TakeAnswers();
  void OnAnswer(const OpenCall& open, const ChaosEnd& end);
  void OnDeleteEnd(const OpenCall& open, const ChaosEnd& end);
  void OnDone(Work& work, std::int64_t now);
  void CleanUp(std::int64_t now);
  void FindOverdue(std::int64_t now);
  void Complain(std::uint64_t& count, const OpenCall& open,
                const ChaosEnd& end);
  std::string Describe(const OpenCall& open, const ChaosEnd& end) const;
  bool IsCalm(std::int64_t for_nanos) const;

  const ChaosOptions options_;
  const std::unique_ptr<ChaosCluster> cluster_;
  Random random_;
  ChaosFaults faults_;
  std::optional<DrawnFault> next_fault_;
  std::int64_t last_fault_ = 0;
  bool accepts_ = true;  // new operations
  std::uint64_t last_operation_ = 0;
  std::uint64_t in_hand_ = 0;  // 0: none
  std::map<std::uint64_t, Work> works_;
  std::map<std::uint64_t, OpenCall> open_;
  ChaosResult result_;
};

}  // namespace hoplite::cli

#endif  // HOPLITE_CLI_CHAOS_H_
