// What the tests of links share: handlers that remember, and other sides that
// are no links.
//
// Thread safety: RecordingHandler is thread-safe; the rest is one thread's.

#ifndef HOPLITE_RAY_INTEGRATION_LINK_LINK_TESTING_H_
#define HOPLITE_RAY_INTEGRATION_LINK_LINK_TESTING_H_

#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "hoplite/base/mutex.h"
#include "hoplite/runtime/clock.h"
#include "hoplite/runtime/socket_folder.h"
#include "ray_integration/link/link.h"
#include "ray_integration/link/poller.h"

namespace hoplite::task {

// Far more than anything here takes: only a test that fails waits for it.
inline absl::Time Soon() { return SystemClock::Now() + absl::Seconds(60); }

inline std::unique_ptr<Poller> MakePoller() {
  auto poller = Poller::Create();
  EXPECT_TRUE(poller.ok()) << poller.status();
  return poller.ok() ? *std::move(poller) : nullptr;
}

// A folder with a short path, as sockets need; it goes with its sockets.
class SocketPlace {
 public:
  SocketPlace() { EXPECT_NE(mkdtemp(folder_.data()), nullptr); }
  ~SocketPlace() {
    unlink(path().c_str());
    rmdir(folder_.c_str());
  }
  std::string path() const { return absl::StrCat(folder_, "/socket"); }
  std::string address() const { return absl::StrCat("unix:", path()); }

 private:
  std::string folder_ = "/tmp/link_test.XXXXXX";
};

// Keeps what comes, and does more with each frame where it is told to.
class RecordingHandler : public LinkHandler {
 public:
  using Action = std::function<void(Link&, absl::string_view)>;
  explicit RecordingHandler(Action action = nullptr)
      : action_(std::move(action)) {}

  void OnFrame(Link& link, absl::string_view frame) override {
    {
      MutexLock lock(mutex_);
      EXPECT_FALSE(closed_) << "a frame after the end";
      frames_.emplace_back(frame);
    }
    if (action_) action_(link, frame);
  }
  void OnBatchEnd(Link& /*link*/) override {
    MutexLock lock(mutex_);
    ++batches_;
  }
  void OnClosed(Link& /*link*/, const absl::Status& why) override {
    MutexLock lock(mutex_);
    EXPECT_FALSE(closed_) << "closed twice: " << why;
    EXPECT_FALSE(why.ok());
    closed_ = why;
  }

  std::vector<std::string> frames() const {
    MutexLock lock(mutex_);
    return frames_;
  }
  std::size_t frame_count() const {
    MutexLock lock(mutex_);
    return frames_.size();
  }
  int batches() const {
    MutexLock lock(mutex_);
    return batches_;
  }
  bool is_closed() const { return why().has_value(); }
  std::optional<absl::Status> why() const {
    MutexLock lock(mutex_);
    return closed_;
  }

 private:
  const Action action_;
  mutable Mutex mutex_;
  std::vector<std::string> frames_ ABSL_GUARDED_BY(mutex_);
  int batches_ ABSL_GUARDED_BY(mutex_) = 0;
  std::optional<absl::Status> closed_ ABSL_GUARDED_BY(mutex_);
};

// Takes every link for one handler.
inline Poller::Accepted AcceptFor(std::shared_ptr<LinkHandler> handler) {
  return [handler = std::move(handler)](const LinkPtr&) { return handler; };
}

inline RecordingHandler::Action SendBack() {
  return [](Link& link, absl::string_view frame) { link.Send(frame); };
}

// A connection that sends what it is told to, frame or not.
class RawPeer {
 public:
  explicit RawPeer(const std::string& path) {
    auto socket = ConnectToSocket(path);
    EXPECT_TRUE(socket.ok()) << socket.status();
    if (socket.ok()) socket_ = *std::move(socket);
  }
  void Write(absl::string_view bytes) {
    EXPECT_EQ(send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
  }
  // Blocks until there is something; the bytes read, 0 at the end.
  std::size_t Read() {
    const ssize_t count = recv(socket_.get(), space_.data(), space_.size(), 0);
    return count < 0 ? 0 : static_cast<std::size_t>(count);
  }
  void Close() { socket_.Close(); }

 private:
  FileDescriptor socket_;
  std::vector<char> space_ = std::vector<char>(1 << 20);
};

}  // namespace hoplite::task

#endif  // HOPLITE_RAY_INTEGRATION_LINK_LINK_TESTING_H_
