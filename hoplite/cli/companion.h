// A companion runs beside a node, in the process of `hoplite start`.
//
// Whoever links one in has it: the command line knows no more of it than this.
//
// Not responsible for: its own options; it may read what it is given as text.
// Thread safety: SetCompanion before main; the rest on one thread.

#ifndef HOPLITE_CLI_COMPANION_H_
#define HOPLITE_CLI_COMPANION_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "hoplite/runtime/node_options.h"
#include "hoplite/runtime/node_server.h"

namespace hoplite::cli {

class Companion {
 public:
  virtual ~Companion() = default;

  // The node is up, and outlives End.
  virtual absl::Status Begin(NodeServer& node) = 0;
  // The node is about to stop.
  virtual void End() = 0;
};

// What has run on a cluster, for a viewer of traces.
struct CompanionTrace {
  std::string text;  // the file's content
  std::uint64_t nodes = 0;
  std::uint64_t tasks = 0;
  std::uint64_t transfers = 0;
  std::uint64_t left_out = 0;       // tasks that are not known any more
  std::vector<std::string> silent;  // nodes that did not answer
};

struct CompanionMaker {
  // Before the node starts; changes what it needs in the node's options.
  // `resources` is the text of --resources, or empty.
  // Errors: kInvalidArgument for a text that says nothing.
  std::function<absl::StatusOr<std::unique_ptr<Companion>>(
      const std::string& resources, NodeOptions& options)>
      make;
  // What it says of itself for `hoplite status`, as JSON; of the node at that
  // socket.
  std::function<absl::StatusOr<std::string>(const std::string& socket,
                                            absl::Time deadline)>
      report;
  // The same for people.
  std::function<std::string(const std::string& report)> text;
  // Of the cluster of the node at that socket, in Chrome's trace format.
  std::function<absl::StatusOr<CompanionTrace>(const std::string& socket,
                                               absl::Time deadline)>
      trace;
};

// Null functions where none is linked in.
const CompanionMaker& TheCompanion();
void SetCompanion(CompanionMaker maker);

}  // namespace hoplite::cli

#endif  // HOPLITE_CLI_COMPANION_H_
