// The nodes of a benchmark: one member process on each host, told what to do.
//
// On emulated hosts (a testbed), on loopback, or joined to a cluster that
// runs. With daemons each host runs a hoplited, and the member is its worker.
// Where a benchmark has a fault, even none, there is a member more, the last:
// its node is the head, calls the reductions, and is never lost.
// The program that uses this must answer to two commands on its command line:
// kBenchMemberCommand, and with daemons `start`.
//
// Thread safety: none; one thread at a time.

#ifndef HOPLITE_CLI_BENCH_CLUSTER_H_
#define HOPLITE_CLI_BENCH_CLUSTER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "hoplite/cli/bench_fault.h"
#include "hoplite/cli/bench_options.h"
#include "hoplite/cli/temporary_folder.h"
#include "hoplite/cli/undo_at_signal.h"
#include "hoplite/testbed/host_process.h"
#include "hoplite/testbed/testbed.h"

namespace hoplite::cli {

class BenchCluster {
 public:
  using Json = nlohmann::json;

  // Starts options.nodes members, or one more, without nodes as yet.
  // Ownership: `hosts` is null for loopback, and outlives this.
  static absl::StatusOr<std::unique_ptr<BenchCluster>> Start(
      const BenchOptions& options, testbed::Testbed* hosts);
  // Ends all processes.
  ~BenchCluster();

  // Gives every member a node whose store has `store_bytes[member]` bytes.
  absl::Status StartNodes(const std::vector<std::uint64_t>& store_bytes);
  // The member's node is lost in this way, and the member must be told nothing
  // more. Revive gives it another process and node, under a new address.
  // Errors: kInternal; kInvalidArgument: there are no links to cut; of Revive,
  // those of StartNodes.
  absl::Status Lose(int member, FaultKind kind);
  absl::Status Revive(int member);

  // What one plain TCP stream reaches from member 0 to member 1, in Mbit/s.
  absl::StatusOr<double> MeasurePayloadRate();
  // A warmed gRPC stream's echo between members 0 and 1, in milliseconds.
  absl::StatusOr<double> MeasureEcho(std::uint64_t bytes, int warm_ups,
                                     int runs);

  // Sends each member its command, null for none. Hear then reads the answer
  // of each that was told; those of the others are null.
  // Errors: the first member's that failed, naming it; kDeadlineExceeded.
  absl::Status Tell(const std::function<Json(int)>& command);
  absl::StatusOr<std::vector<Json>> Hear(absl::Time deadline);
  // Both.
  absl::StatusOr<std::vector<Json>> AskAll(
      const std::function<Json(int)>& command, absl::Time deadline);
  absl::StatusOr<Json> Ask(int member, const Json& command,
                           absl::Time deadline);

  // Private memory of the member's node's process, now, beside its store.
  double PrivateMib(int member) const;

  int size() const { return static_cast<int>(members_.size()); }

 private:
  using Process = std::unique_ptr<testbed::HostProcess>;

  BenchCluster(const BenchOptions& options, testbed::Testbed* hosts)
      : options_(options), hosts_(hosts) {}

  std::string ListenAddress(int member) const;
  absl::StatusOr<Process> Launch(int member,
                                 std::vector<std::string> arguments);
  absl::StatusOr<Json> ReadAnswer(int member, absl::Time deadline);
  // The member whose node is the head of a cluster of its own.
  int head_member() const {
    return options_.fault.has_value() ? size() - 1 : 0;
  }
  absl::Status StartProcesses(const std::vector<int>& members);
  absl::Status StartEmbedded(const std::vector<int>& members);
  absl::Status StartDaemons(const std::vector<int>& members);
  absl::StatusOr<Process> StartDaemon(int member);
  absl::StatusOr<Json> ReadStarted(testbed::HostProcess& daemon,
                                   absl::Time deadline);

  const BenchOptions options_;
  testbed::Testbed* const hosts_;
  std::string listen_host_;  // of all nodes, where there are no hosts
  std::string head_;         // HOST:PORT, once known
  std::vector<std::uint64_t> store_bytes_;    // by member
  std::unique_ptr<TemporaryFolder> sockets_;  // of daemons
  std::vector<Process> daemons_;
  // At a signal daemons end before their folder goes, which they would make.
  std::vector<std::unique_ptr<UndoAtSignal>> kills_;
  std::vector<Process> members_;
  std::vector<int> told_;
};

}  // namespace hoplite::cli

#endif  // HOPLITE_CLI_BENCH_CLUSTER_H_
