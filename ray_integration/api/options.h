// What may be asked of a task or an actor, beyond its arguments.
//
//   task::Remote({.retries = 0, .host = "host3"}, Plus, 1, 2);
//
// Thread safety: values; as safe as int.

#ifndef HOPLITE_RAY_INTEGRATION_API_OPTIONS_H_
#define HOPLITE_RAY_INTEGRATION_API_OPTIONS_H_

#include <string>
#include <utility>
#include <vector>

namespace hoplite::task {

// Amounts by name, of what a node says at its start that it has: {{"gpu", 1}}.
using Resources = std::vector<std::pair<std::string, double>>;

struct TaskOptions {
  // How often the task is run again after its worker or its node died.
  int retries = 3;
  // An error that the task returns or throws also counts as a death.
  bool retry_errors = false;
  // Processors that it holds while it runs.
  int cpus = 1;
  Resources resources;
  // The name of the node's host; "" is any.
  std::string host;
  // Any node is as good as this one: the tasks go to all in turn.
  bool spread = false;
};

struct ActorOptions {
  // How often it is started again, from its factory and without its state.
  int restarts = 0;
  // A call that was under way when it died goes to the next incarnation, and
  // may so run twice; else it fails.
  bool retry_calls = false;
  // Held as long as it lives.
  int cpus = 0;
  Resources resources;
  std::string host;
};

}  // namespace hoplite::task

#endif  // HOPLITE_RAY_INTEGRATION_API_OPTIONS_H_
