// ClientService lets the workers of a host use its node, over a Unix socket.
//
// One thread waits for all of them; answers are written by whoever brings
// them.
//
// Thread safety: thread-safe.

#ifndef HOPLITE_RUNTIME_CLIENT_SERVICE_H_
#define HOPLITE_RUNTIME_CLIENT_SERVICE_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "hoplite/runtime/client_connection.h"
#include "hoplite/runtime/request_port.h"
#include "hoplite/runtime/socket_folder.h"
#include "hoplite/store/object_store.h"

namespace hoplite {

class ClientService {
 public:
  // Listens; who connects waits until Serve.
  // Errors: see ListenAtSocket. Ownership: `port` and `store` outlive it.
  static absl::StatusOr<std::unique_ptr<ClientService>> Listen(
      std::string socket_path, RequestPort* port, const ObjectStore* store);
  // As Stop does.
  ~ClientService();

  // REQUIRES: called once, before Stop.
  void Serve();
  // Ends all connections and removes the socket's name. REQUIRES: not called
  // by a RequestObserver, nor by two threads at once.
  void Stop();

  const std::string& socket_path() const { return socket_path_; }
  std::uint64_t connected() const { return connected_; }

  // For Listen only.
  ClientService(std::string socket_path, FileDescriptor listener,
                FileDescriptor events, FileDescriptor stop, RequestPort* port,
                const ObjectStore* store);

 private:
  void Run();
  void Accept();
  void Serve(int descriptor, std::uint32_t happened);
  void Drop(int descriptor);
  // The next time that the socket is writable is wanted, or not.
  void WatchWrites(int descriptor, bool wanted);

  // Constant after construction.
  const std::string socket_path_;
  const FileDescriptor listener_;
  const FileDescriptor events_;  // epoll
  const FileDescriptor stop_;    // eventfd
  RequestPort* const port_;
  const ObjectStore* const store_;

  // Owned by the thread. The spare descriptor is given up to refuse a worker
  // when there are no others.
  FileDescriptor spare_;
  absl::flat_hash_map<int, std::shared_ptr<ClientConnection>> connections_;

  std::atomic<std::uint64_t> connected_ = 0;
  bool stopped_ = false;  // owned by whoever calls Stop
  std::thread thread_;
};

}  // namespace hoplite

#endif  // HOPLITE_RUNTIME_CLIENT_SERVICE_H_
