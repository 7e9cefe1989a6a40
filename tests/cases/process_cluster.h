// ProcessCluster is a cluster of `hoplite start` processes, each on an
// emulated host of its own, with a client of each in this process: for cases
// in which nodes are killed, stand still, or are cut off.
//
// Thread safety: none; one thread at a time, but for the clients.

#ifndef HOPLITE_TESTS_CASES_PROCESS_CLUSTER_H_
#define HOPLITE_TESTS_CASES_PROCESS_CLUSTER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "hoplite/api/hoplite.h"
#include "tests/integration/cli/command_runner.h"

namespace hoplite {

class ProcessCluster {
 public:
  // Nodes 0, 1, … on hosts 0, 1, …; node 0 is the head. A failure of the test
  // where one does not start.
  explicit ProcessCluster(
      int nodes, std::optional<std::uint64_t> link_bits_per_second = {});

  CommandRunner& hosts() { return hosts_; }
  testbed::HostProcess& process(int node) { return *nodes_[node].process; }
  int size() const { return static_cast<int>(nodes_.size()); }
  Client& operator[](int node) { return *clients_[node]; }
  NodeReport Report(int node);
  // The path of its socket.
  std::string Socket(int node) const;

  // SIGKILL, and nothing is heard of it afterwards.
  void Kill(int node);
  // Starts the node again, at the same address and as a new one.
  // REQUIRES: it was killed.
  void Restart(int node);
  // A new client of the node; the calls of the last one have ended. For a node
  // that was declared dead and lives.
  void Reconnect(int node);

  // Whom the node fetches the object from; nullopt: nobody, or nobody here.
  std::optional<int> ServerOf(int node, const ObjectId& object);
  // Blocks until `observer` knows so many members (true).
  bool AwaitMembers(int observer, std::size_t count);

 private:
  // Its process runs, its line is read, its client is connected.
  void Launch(int node);

  CommandRunner hosts_;
  std::vector<RunningNode> nodes_;
  std::vector<std::unique_ptr<Client>> clients_;
  std::vector<NodeRef> refs_;
};

}  // namespace hoplite

#endif  // HOPLITE_TESTS_CASES_PROCESS_CLUSTER_H_
