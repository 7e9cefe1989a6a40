// The hosts of chaos, and which faults are in force.
//
// A host that is hit stays so until its fault is over, and then settles until
// the head counts its node, in its present life, among the members. Only hosts
// that are up are asked to do anything.
//
// Thread safety: none; one thread at a time.
// Units: nanoseconds of the steady clock.

#ifndef HOPLITE_CLI_CHAOS_CLUSTER_H_
#define HOPLITE_CLI_CHAOS_CLUSTER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "hoplite/cli/chaos_call.h"
#include "hoplite/cli/chaos_host.h"
#include "hoplite/cli/chaos_options.h"
#include "hoplite/cli/chaos_process.h"
#include "hoplite/testbed/testbed.h"

namespace hoplite::cli {

class ChaosCluster {
 public:
  struct Answer {
    std::uint64_t call = 0;
    ChaosEnd end;
  };

  // Starts a node on each host; returns when all are up.
  static absl::StatusOr<std::unique_ptr<ChaosCluster>> Start(
      const ChaosOptions& options);

  int size() const { return static_cast<int>(hosts_.size()); }
  bool IsUp(int host) const { return states_[Index(host)].phase == Phase::kUp; }
  std::vector<int> Up() const;
  // All are up, and since when; the largest number where they are not.
  std::int64_t calm_since() const { return calm_since_; }
  // The host's calls stand still, and when they did so last; 0: never.
  bool IsStopped(int host) const;
  std::int64_t WokenAt(int host) const { return states_[Index(host)].woken; }

  // Begins a fault. REQUIRES: the host is up.
  absl::Status Hit(int host, ChaosFault fault, absl::Duration length);
  // A host that is up seems not to be what it was.
  void Doubt(int host);
  // Ends all faults, whatever is left of their time.
  void EndFaults();
  // Ends faults whose time has come, starts nodes, sees who has settled.
  // Errors: kInternal: a node cannot be started, or has ended by itself.
  absl::Status Step();

  // Has the host's member make a call. Its number.
  std::uint64_t Call(int host, const ChaosCall& call);
  // The next answer to a call, where one comes before the deadline.
  std::optional<Answer> Next(absl::Time deadline);

  // What all nodes say of themselves; fewer where not all answer in time.
  std::vector<NodeReport> Reports(absl::Time deadline);
  // The names of the files in a folder that all hosts share.
  absl::StatusOr<std::vector<std::string>> Files(const std::string& folder,
                                                 absl::Time deadline);
  // The process of the host's node. REQUIRES: the host is up.
  pid_t NodeProcess(int host) const { return hosts_[Index(host)]->pid(); }

 private:
  enum class Phase : std::uint8_t { kUp, kHit, kSettling };
  struct HostState {
    Phase phase = Phase::kSettling;
    ChaosFault fault = ChaosFault::kRestart;
    bool killed = true;       // its node has yet to be started
    std::int64_t until = 0;   // of the fault
    std::int64_t healed = 0;  // when it was over
    std::int64_t woken = 0;   // the process that calls
    std::int64_t asked = 0;   // for a report
    int failures = 0;         // to start, in a row
  };

  explicit ChaosCluster(const ChaosOptions& options) : options_(options) {}

  static std::size_t Index(int host) { return static_cast<std::size_t>(host); }
  absl::Status EndFault(int host);
  absl::Status StepSettling(int host);
  absl::Status StartAgain(int host);
  bool HasSettled(int host) const;
  void TakeLine(const ChaosLine& line);

  const ChaosOptions options_;
  std::unique_ptr<testbed::Testbed> testbed_;
  ChaosInbox inbox_;
  std::vector<std::unique_ptr<ChaosHost>> hosts_;
  std::vector<HostState> states_;
  std::int64_t calm_since_ = 0;
  std::int64_t head_asked_ = 0;
  std::uint64_t last_call_ = 0;
  std::optional<Answer> answer_;  // what TakeLine has found
};

}  // namespace hoplite::cli

#endif  // HOPLITE_CLI_CHAOS_CLUSTER_H_
