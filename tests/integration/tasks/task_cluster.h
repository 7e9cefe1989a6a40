// TaskCluster is a cluster of `hoplite start` processes with the task runtime,
// each on an emulated host of its own, on which programs run as drivers.
//
// Thread safety: none; one thread at a time, but for the clients.

#ifndef HOPLITE_TESTS_INTEGRATION_TASKS_TASK_CLUSTER_H_
#define HOPLITE_TESTS_INTEGRATION_TASKS_TASK_CLUSTER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "hoplite/api/hoplite.h"
#include "hoplite/cli/temporary_folder.h"
#include "hoplite/testbed/host_process.h"
#include "hoplite/testbed/testbed.h"

namespace hoplite {

// What a program has said, and its exit code; -1 where it did not end.
struct DriverOutcome {
  int code = -1;
  std::string out;
  std::string error;
};

class TaskCluster {
 public:
  // Node i on host i, node 0 the head, each with two processors for tasks and
  // these words of `hoplite start` more. A failure of the test where one does
  // not start.
  explicit TaskCluster(int nodes, const std::vector<std::string>& words = {});

  int size() const { return static_cast<int>(nodes_.size()); }
  bool ok() const { return ok_; }

  // Starts a program of Bazel's ("ray_integration/examples/hello") as a driver
  // of the node. Null, and a failure of the test, where it does not start.
  std::unique_ptr<testbed::HostProcess> Start(int node,
                                              absl::string_view program,
                                              std::vector<std::string> words);
  // The same, until its end.
  DriverOutcome Run(int node, absl::string_view program,
                    std::vector<std::string> words = {});

  // SIGKILL to the node's process; what it has started ends with it.
  void Kill(int node);
  bool is_alive(int node) const { return clients_[node] != nullptr; }

  // REQUIRES: the node is alive.
  NodeReport Report(int node);
  // Over the nodes that live.
  std::uint64_t StoreBytes();
  std::uint64_t DirectoryRecords();
  // Blocks until no more bytes are in the stores and no more objects in the
  // directory than this (true), or `patience` has passed.
  bool AwaitMemory(std::uint64_t store_bytes, std::uint64_t records,
                   absl::Duration patience);

  // Where files of the test may lie, for all hosts.
  const std::string& folder() const { return folder_->path(); }

 private:
  bool StartNode(int node, const std::vector<std::string>& words);
  bool AwaitNode(int node);
  std::string SocketOf(int node) const;

  const std::unique_ptr<cli::TemporaryFolder> folder_;
  std::unique_ptr<testbed::Testbed> testbed_;
  std::vector<std::unique_ptr<testbed::HostProcess>> nodes_;
  std::vector<std::unique_ptr<Client>> clients_;  // of the living
  bool ok_ = false;
};

}  // namespace hoplite

#endif  // HOPLITE_TESTS_INTEGRATION_TASKS_TASK_CLUSTER_H_
