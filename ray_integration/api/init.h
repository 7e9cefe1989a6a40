// Where a program joins the task runtime, and where it leaves it.
//
//   int main(int argc, char** argv) {
//     if (absl::Status started = task::Init(argc, argv); !started.ok()) ...
//
// A worker is the same program, started again by a node: Init knows that from
// its environment, runs tasks until the node ends it, and never returns.
// //ray_integration/worker:init implements this.
//
// Thread safety: one thread, the one of main.

#ifndef HOPLITE_RAY_INTEGRATION_API_INIT_H_
#define HOPLITE_RAY_INTEGRATION_API_INIT_H_

#include <string>

#include "absl/status/status.h"

namespace hoplite::task {

struct InitOptions {
  // The socket of the node to join, as `hoplite start` prints it. "" is the
  // one that $HOPLITE_NODE names, or else the only one of this machine.
  std::string node;
};

// The first statement of main. Leaves argc and argv alone.
// Errors: kUnavailable where no node is there, and says how to start one;
// kFailedPrecondition where it was called already.
absl::Status Init(int argc, char** argv, const InitOptions& options = {});

// Leaves. What this program owned ends and is freed. References and Values
// must not be used afterwards. Does nothing where Init did not succeed. Who
// ends without it is taken for dead.
void Shutdown();

}  // namespace hoplite::task

#endif  // HOPLITE_RAY_INTEGRATION_API_INIT_H_
