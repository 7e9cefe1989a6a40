#include "hoplite/runtime/client_service.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "hoplite/base/status_macros.h"

namespace hoplite {
namespace {

FileDescriptor OpenSpare() {
  return FileDescriptor(open("/dev/null", O_RDONLY | O_CLOEXEC));
}

bool Watch(int events, int descriptor, std::uint32_t what) {
  epoll_event event{};
  event.events = what;
  event.data.fd = descriptor;
  return epoll_ctl(events, EPOLL_CTL_ADD, descriptor, &event) == 0;
}

}  // namespace

absl::StatusOr<std::unique_ptr<ClientService>> ClientService::Listen(
    std::string socket_path, RequestPort* port, const ObjectStore* store) {
  HOPLITE_ASSIGN_OR_RETURN(FileDescriptor listener,
                           ListenAtSocket(socket_path));
  fcntl(listener.get(), F_SETFL, O_NONBLOCK);
  FileDescriptor events(epoll_create1(EPOLL_CLOEXEC));
  FileDescriptor stop(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!events || !stop || !Watch(events.get(), listener.get(), EPOLLIN) ||
      !Watch(events.get(), stop.get(), EPOLLIN)) {
    absl::Status status = absl::UnavailableError(
        absl::StrCat("cannot serve ", socket_path, ": ", std::strerror(errno)));
    unlink(socket_path.c_str());
    return status;
  }
  return std::make_unique<ClientService>(std::move(socket_path),
                                         std::move(listener), std::move(events),
                                         std::move(stop), port, store);
}

ClientService::ClientService(std::string socket_path, FileDescriptor listener,
                             FileDescriptor events, FileDescriptor stop,
                             RequestPort* port, const ObjectStore* store)
    : socket_path_(std::move(socket_path)),
      listener_(std::move(listener)),
      events_(std::move(events)),
      stop_(std::move(stop)),
      port_(port),
      store_(store),
      spare_(OpenSpare()) {}

ClientService::~ClientService() { Stop(); }

void ClientService::Serve() {
  thread_ = std::thread([this] { Run(); });
}

void ClientService::Stop() {
  if (std::exchange(stopped_, true)) return;
  unlink(socket_path_.c_str());
  if (!thread_.joinable()) return;
  const std::uint64_t one = 1;
  // Cannot fail: the counter is far from full.
  [[maybe_unused]] const ssize_t written =
      write(stop_.get(), &one, sizeof(one));
  thread_.join();
}

void ClientService::Run() {
  std::array<epoll_event, 64> happened;
  for (;;) {
    const int count =
        epoll_wait(events_.get(), happened.data(), happened.size(), -1);
    for (int i = 0; i < count; ++i) {
      const int descriptor = happened[i].data.fd;
      if (descriptor == stop_.get()) {
        while (!connections_.empty()) Drop(connections_.begin()->first);
        return;
      }
      if (descriptor == listener_.get()) {
        Accept();
      } else {
        Serve(descriptor, happened[i].events);
      }
    }
  }
}

void ClientService::Accept() {
  FileDescriptor descriptor(
      accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!descriptor) {
    if (errno != EMFILE && errno != ENFILE) return;
    // Without a descriptor the worker would stay at the door and wake this
    // thread for ever: let it in by the spare one, and close.
    spare_.Close();
    FileDescriptor refused(
        accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    refused.Close();
    spare_ = OpenSpare();
    return;
  }
  const int number = descriptor.get();
  auto connection = std::make_shared<ClientConnection>(
      std::move(descriptor), port_, store_,
      [this, number] { WatchWrites(number, true); });
  if (!Watch(events_.get(), number, EPOLLIN)) return;
  connections_.emplace(number, std::move(connection));
  ++connected_;
}

void ClientService::Serve(int descriptor, std::uint32_t happened) {
  const auto found = connections_.find(descriptor);
  if (found == connections_.end()) return;
  const std::shared_ptr<ClientConnection> connection = found->second;
  if ((happened & EPOLLOUT) != 0) {
    WatchWrites(descriptor, connection->Flush());
    // What began to wait in between has been overruled.
    if (connection->wants_write()) WatchWrites(descriptor, true);
  }
  if ((happened & (EPOLLIN | EPOLLHUP | EPOLLERR)) == 0) return;
  if (!connection->Receive()) Drop(descriptor);
}

void ClientService::Drop(int descriptor) {
  const auto found = connections_.find(descriptor);
  const std::shared_ptr<ClientConnection> connection = found->second;
  connections_.erase(found);
  --connected_;
  epoll_ctl(events_.get(), EPOLL_CTL_DEL, descriptor, nullptr);
  connection->End();
}

void ClientService::WatchWrites(int descriptor, bool wanted) {
  epoll_event event{};
  event.events = EPOLLIN | (wanted ? EPOLLOUT : 0U);
  event.data.fd = descriptor;
  epoll_ctl(events_.get(), EPOLL_CTL_MOD, descriptor, &event);
}

}  // namespace hoplite
