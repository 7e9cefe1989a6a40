// A process of chaos, one on each host, that calls Hoplite as it is told.
//
// It reads commands, one JSON object on a line of standard input, and carries
// out each on a thread of its own, so that one that waits holds up no other.
// Each answer repeats the command's number: {"call": 7, …}. It ends with its
// input, and its open calls with it. Commands and their arguments:
//
//   start    listen, data_listen, join, store, heartbeat_ms, dead_after_ms
//                     a node of its own -> address, data_address
//   connect  socket   a client of a hoplited
//   report            -> report: what the node says of itself; a client that
//                     has lost its hoplited connects again
//   files    folder   -> files: the names of those in it
//   call     see chaos_call.h
//
// Thread safety: none; one thread at a time.

#ifndef HOPLITE_CLI_CHAOS_MEMBER_H_
#define HOPLITE_CLI_CHAOS_MEMBER_H_

#include <atomic>
#include <list>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "hoplite/api/hoplite.h"
#include "hoplite/base/mutex.h"
#include "hoplite/cli/chaos_call.h"

namespace hoplite::cli {

// The hidden first argument that makes a program a member of chaos.
inline constexpr char kChaosMemberCommand[] = "chaos-member";

class ChaosMember {
 public:
  // Until the end of standard input; the exit status.
  int Main();

 private:
  using Json = nlohmann::json;
  using Answer = absl::StatusOr<Json>;
  struct Running {
    std::thread thread;
    std::atomic<bool> done = false;
  };

  void Begin(const Json& command);
  void CollectDone();
  void Carry(const Json& command);
  Answer Do(const Json& command);
  Answer Start(const Json& command);
  Answer Connect(const std::string& socket);
  Answer Report();

  // Null before there is a node.
  std::shared_ptr<Client> client();
  void SetClient(std::shared_ptr<Client> client);

  Mutex mutex_;
  std::shared_ptr<Client> client_ ABSL_GUARDED_BY(mutex_);
  std::string socket_ ABSL_GUARDED_BY(mutex_);
  Mutex output_;  // a line at a time
  std::list<Running> running_;
};

// Makes the call, and looks at what it got.
ChaosEnd MakeChaosCall(Client& client, const ChaosCall& call);

}  // namespace hoplite::cli

#endif  // HOPLITE_CLI_CHAOS_MEMBER_H_
