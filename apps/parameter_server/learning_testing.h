// What the tests of the whole program share: a cluster on emulated hosts, the
// program on host 0, and the processes that may be killed.
//
// Thread safety: none; one thread at a time.

#ifndef HOPLITE_APPS_PARAMETER_SERVER_LEARNING_TESTING_H_
#define HOPLITE_APPS_PARAMETER_SERVER_LEARNING_TESTING_H_

#include <sys/types.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "experiments/cluster.h"
#include "experiments/programs.h"
#include "hoplite/testbed/host_process.h"
#include "hoplite/testbed/testbed.h"

namespace hoplite::apps {

// Each call that fails is a failure of the test, and gives null or nothing.
class LearningCluster {
 public:
  // Workers run on all hosts but the first.
  explicit LearningCluster(int hosts);

  bool ok() const { return cluster_ != nullptr; }
  experiments::Cluster& cluster() { return *cluster_; }

  // Starts the program, with --json and --hosts.
  std::unique_ptr<testbed::HostProcess> Start(
      std::vector<std::string> arguments);
  // The result that the program prints.
  nlohmann::json Result(testbed::HostProcess& program);
  // Both.
  nlohmann::json Run(std::vector<std::string> arguments);

  // The processes of the program that run workers now, in any order: all but
  // `program` itself, where it is not null.
  std::vector<pid_t> Workers(const testbed::HostProcess* program) const;
  // Waits until there are at least so many, or at most.
  bool AwaitWorkers(const testbed::HostProcess* program, std::size_t least,
                    std::size_t most) const;

 private:
  experiments::Programs programs_;
  std::unique_ptr<testbed::Testbed> hosts_;
  std::unique_ptr<experiments::Cluster> cluster_;
};

// Does nothing for so long.
void Pause(absl::Duration time);

}  // namespace hoplite::apps

#endif  // HOPLITE_APPS_PARAMETER_SERVER_LEARNING_TESTING_H_
