// SocketBackend is a node in another process of this host, reached over its
// Unix socket.
//
// One thread reads the answers. Objects are read, and rooms written, where
// they lie in the node's memory.
//
// Thread safety: thread-safe.

#ifndef HOPLITE_API_SOCKET_BACKEND_H_
#define HOPLITE_API_SOCKET_BACKEND_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "hoplite/api/backend.h"
#include "hoplite/api/call_guard.h"
#include "hoplite/api/socket_link.h"
#include "hoplite/base/mutex.h"

namespace hoplite {

class SocketBackend final : public Backend {
 public:
  // Errors: see SocketLink::Connect.
  static absl::StatusOr<std::shared_ptr<SocketBackend>> Connect(
      std::string socket_path,
      absl::Duration timeout = absl::InfiniteDuration());
  explicit SocketBackend(std::shared_ptr<SocketLink> link);
  ~SocketBackend() override;

  RequestId NewRequest() override { return RequestId(++last_request_); }
  void Submit(Event event, std::shared_ptr<CallObserver> observer) override;
  void Cancel(RequestId request) override;
  absl::StatusOr<NodeReport> Report(absl::Duration timeout) override;
  void Shutdown() override;

 private:
  struct Call {
    CallName name;
    std::shared_ptr<CallObserver> observer;
  };
  class ReportObserver;

  // Keeps the call and sends `message`; answers it where that fails.
  void Start(std::uint64_t number, Call call, const ClientMessage& message);
  // The call of this number, which is forgotten where it is `answered`; one
  // without an observer where there is none.
  Call Find(std::uint64_t number, bool answered);
  void Run();
  // False: a node does not say this.
  bool Take(ClientMessage& message);
  bool TakeRoom(const client_message::Room& room);
  bool TakeAnswer(client_message::Answer& answer);
  bool TakeReport(const client_message::ReportAnswer& report);
  // Answers every call, now and later, with this error.
  void EndAll(absl::StatusCode code, const std::string& why);
  absl::Status EndError(const Call& call) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::shared_ptr<SocketLink> link_;
  std::atomic<std::uint64_t> last_request_ = 0;
  std::atomic<bool> stopping_ = false;

  Mutex mutex_;
  // Once it is not OK, every call ends so.
  absl::Status ended_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<std::uint64_t, Call> calls_ ABSL_GUARDED_BY(mutex_);

  Mutex join_mutex_;
  std::thread reader_ ABSL_GUARDED_BY(join_mutex_);
};

}  // namespace hoplite

#endif  // HOPLITE_API_SOCKET_BACKEND_H_
