// ClientConnection is one worker of a node, at the node's end of its socket.
//
// It turns the worker's messages into requests, and what comes of them into
// messages. The worker's pins and its unfinished Puts end with it. What a
// worker may send wrongly ends its own connection, and nothing else.
//
// Thread safety: thread-safe; Receive and Flush by the service's thread only.

#ifndef HOPLITE_RUNTIME_CLIENT_CONNECTION_H_
#define HOPLITE_RUNTIME_CLIENT_CONNECTION_H_

#include <cstdint>
#include <functional>
#include <memory>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "hoplite/base/mutex.h"
#include "hoplite/runtime/client_protocol.h"
#include "hoplite/runtime/frame_socket.h"
#include "hoplite/runtime/request_port.h"
#include "hoplite/store/object_store.h"

namespace hoplite {

class ClientConnection : public std::enable_shared_from_this<ClientConnection> {
 public:
  // Ownership: `port` and `store` outlive this connection's End.
  ClientConnection(FileDescriptor descriptor, RequestPort* port,
                   const ObjectStore* store, std::function<void()> wants_write);

  int descriptor() const { return socket_.descriptor(); }
  // The socket is readable; false: the connection is over, call End.
  bool Receive();
  // The socket is writable; true where something still waits.
  bool Flush() { return socket_.Flush(); }
  bool wants_write() const { return socket_.wants_write(); }

  // Cancels what is not answered and lets all pins go.
  void End();

 private:
  class Observer;

  // What the worker knows under one number.
  struct Call {
    RequestId request;
    bool is_put = false;
    bool answered = false;
    bool sealed = false;
    // A Get's object, until Release. A Put's room, until it is sealed and
    // answered, or else until Release: the worker may be writing still.
    std::shared_ptr<ObjectBuffer> buffer;
  };

  bool TakeFrame(absl::string_view frame);
  // False: the worker may not say this.
  bool Take(const client_message::Hello& hello);
  bool Take(client_message::Put& put);
  bool Take(const client_message::Advance& advance);
  bool Take(const client_message::Seal& seal);
  bool Take(const client_message::Get& get);
  bool Take(const client_message::Release& release);
  bool Take(const client_message::Delete& request);
  bool Take(client_message::Reduce& reduce);
  bool Take(const client_message::Cancel& cancel);
  bool Take(const client_message::ReportAsk& ask);
  // Messages that only nodes send.
  template <typename Other>
  bool Take(const Other& /*other*/) {
    return false;
  }

  // False where the number is taken. `event` needs no request number yet.
  template <typename Request>
  bool Start(std::uint64_t number, Request event);
  void OnRoom(std::uint64_t number, std::shared_ptr<ObjectBuffer> buffer);
  void OnAnswer(std::uint64_t number, RequestAnswer answer);

  RequestPort* const port_;
  const ObjectStore* const store_;
  FrameSocket socket_;
  bool greeted_ = false;  // owned by the service's thread

  Mutex mutex_;
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
  absl::flat_hash_map<std::uint64_t, Call> calls_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace hoplite

#endif  // HOPLITE_RUNTIME_CLIENT_CONNECTION_H_
