// A cluster of nodes with the task runtime, one on each emulated host.
//
// The head is on host 0. Every node ends with this object, and with the
// process, however that ends.
//
// Thread safety: none; one thread at a time.

#ifndef HOPLITE_EXPERIMENTS_CLUSTER_H_
#define HOPLITE_EXPERIMENTS_CLUSTER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "hoplite/cli/temporary_folder.h"
#include "hoplite/cli/undo_at_signal.h"
#include "hoplite/testbed/host_process.h"
#include "hoplite/testbed/testbed.h"

namespace hoplite::experiments {

struct ClusterOptions {
  std::string program;               // that has `start`, as //:hoplite
  std::string schedule = "hoplite";  // of all nodes
  std::uint64_t store_bytes = 256 << 20;
};

class Cluster {
 public:
  // Waits until all nodes are there.
  // Errors: kUnavailable: one did not start, and why.
  // Ownership: `hosts` outlives this.
  static absl::StatusOr<std::unique_ptr<Cluster>> Start(
      testbed::Testbed& hosts, const ClusterOptions& options);
  // Kills all nodes.
  ~Cluster();
  Cluster(const Cluster&) = delete;
  Cluster& operator=(const Cluster&) = delete;

  // Runs a program on a host, which finds the host's node by itself.
  // Errors: as Testbed::Start.
  absl::StatusOr<std::unique_ptr<testbed::HostProcess>> Run(
      int host, std::vector<std::string> arguments);

  // Kills the host's node, with all that runs under it. Start brings a new one
  // there. REQUIRES: not host 0.
  void KillNode(int host);
  absl::Status StartNode(int host);

 private:
  Cluster(testbed::Testbed& hosts, ClusterOptions options,
          std::unique_ptr<cli::TemporaryFolder> sockets);

  std::string SocketOf(int host) const;
  absl::Status Launch(int host);
  absl::Status AwaitStart(int host, absl::Time deadline);

  testbed::Testbed& hosts_;
  const ClusterOptions options_;
  const std::unique_ptr<cli::TemporaryFolder> sockets_;
  std::string head_;  // HOST:PORT, once known
  // By host; at a signal nodes end before their folder goes.
  std::vector<std::unique_ptr<testbed::HostProcess>> nodes_;
  std::vector<std::unique_ptr<cli::UndoAtSignal>> kills_;
};

}  // namespace hoplite::experiments

#endif  // HOPLITE_EXPERIMENTS_CLUSTER_H_
