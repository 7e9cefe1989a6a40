// One emulated host of chaos: its node, and the process that calls it.
//
// They are one process or, with daemons, a hoplited and a worker that outlives
// it. What the host wants to know of them for itself it asks under numbers of
// its own, which no other call has.
//
// Thread safety: none; one thread at a time.

#ifndef HOPLITE_CLI_CHAOS_HOST_H_
#define HOPLITE_CLI_CHAOS_HOST_H_

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "hoplite/cli/chaos_process.h"
#include "hoplite/runtime/node_report.h"
#include "hoplite/testbed/testbed.h"

namespace hoplite::cli {

// Where daemons have their sockets; all hosts see the same files, which go
// with the testbed.
inline constexpr char kChaosSocketFolder[] = "/run/chaos";

class ChaosHost {
 public:
  using Json = nlohmann::json;
  struct Setting {
    testbed::Testbed* testbed = nullptr;
    ChaosInbox* inbox = nullptr;
    int host = 0;
    bool daemon = false;
    bool verbose = false;
  };
  enum class Node : std::uint8_t {
    kDown,      // killed, or never started
    kStarting,  // until it says that it listens
    kUp,
    kFailed,  // it could not start, or has ended by itself
  };

  explicit ChaosHost(const Setting& setting) : setting_(setting) {}

  // Starts the node, as the head where `head` is empty, at the address of the
  // one before or at another; and the worker, unless it lives.
  absl::Status Start(const std::string& head, bool same_address);
  void Kill();
  // The node's process. Errors: kFailedPrecondition: it has ended.
  absl::Status Signal(int number);

  // Takes a line of this host's processes. An answer to Send is returned, all
  // else kept. False: the line is not this host's.
  bool Take(const ChaosLine& line, std::optional<Json>& answer);

  // To the process that calls. Errors: kUnavailable: it has ended.
  absl::Status Send(const Json& command);
  // Asks for the node's report, or for the names of files that this host sees;
  // what was asked before is not waited for any more.
  void AskReport();
  void AskFiles(absl::string_view folder);

  Node node() const { return node_; }
  // Why it failed.
  std::string failure() const;
  const std::string& address() const { return address_; }
  // The answer to the last AskReport since the node's start, once it is here.
  const std::optional<NodeReport>& report() const { return report_; }
  const std::optional<std::vector<std::string>>& files() const {
    return files_;
  }
  // The node's process. REQUIRES: node() is kUp.
  pid_t pid() const;

 private:
  ChaosProcess& node_process() const {
    return *(setting_.daemon ? daemon_ : member_);
  }
  absl::Status Launch(const std::vector<std::string>& arguments,
                      std::unique_ptr<ChaosProcess>& process);
  std::string Listen(bool same_address) const;
  absl::Status StartEmbedded(const std::string& head, bool same_address);
  absl::Status StartDaemon(const std::string& head, bool same_address);
  void AskOwn(Json command);
  void TakeOwn(const Json& answer);
  void TakeStarted(const Json& answer);
  void Fail(std::string why);

  const Setting setting_;
  Node node_ = Node::kDown;
  std::string failure_;
  std::string address_;  // of the last node that has listened
  std::string data_address_;
  std::unique_ptr<ChaosProcess> member_;  // or the worker
  std::unique_ptr<ChaosProcess> daemon_;
  std::uint64_t own_call_ = 0;  // the last one
  std::string own_command_;     // what it was
  std::optional<NodeReport> report_;
  std::optional<std::vector<std::string>> files_;
};

}  // namespace hoplite::cli

#endif  // HOPLITE_CLI_CHAOS_HOST_H_
