// What a message to another process and back costs over a link.
//
//   bazel run --config=bench //ray_integration/link:round_trip_benchmark
//
// The other process is a fork that sends every frame back. BarePair is the
// least that this machine allows: two processes, a socket pair, and nothing
// but send and recv. RoundTrip is an empty frame there and back, the caller in
// Poller::Wait. InFlight has that many frames of 16 bytes on their way at a
// time; SendAndCount sends such frames from a thread that does not wait, and
// only the last one is answered. items_per_second counts frames sent.

#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "benchmark/benchmark.h"
#include "hoplite/base/check.h"
#include "hoplite/runtime/socket_folder.h"
#include "ray_integration/link/link.h"
#include "ray_integration/link/poller.h"

namespace hoplite::task {
namespace {

constexpr absl::string_view kFrame = "sixteen bytes ..";
constexpr absl::string_view kLast = "the last one";

std::array<FileDescriptor, 2> MakePair() {
  std::array<int, 2> ends{};
  HOPLITE_CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()) == 0);
  return {FileDescriptor(ends[0]), FileDescriptor(ends[1])};
}

class Folder {
 public:
  Folder() { HOPLITE_CHECK(mkdtemp(path_.data()) != nullptr); }
  ~Folder() { rmdir(path_.c_str()); }
  const std::string& path() const { return path_; }

 private:
  std::string path_ = "/tmp/round_trip.XXXXXX";
};

// A fork that runs `work`; the destructor waits for its end.
class Fork {
 public:
  explicit Fork(const std::function<void()>& work) : child_(fork()) {
    HOPLITE_CHECK(child_ >= 0);
    if (child_ > 0) return;
    work();
    _exit(0);
  }
  ~Fork() { waitpid(child_, nullptr, 0); }

 private:
  const pid_t child_;
};

// Calls `action` with each frame, and knows whether the link has ended.
class Handler : public LinkHandler {
 public:
  using Action = std::function<void(Link&, absl::string_view)>;
  explicit Handler(Action action) : action_(std::move(action)) {}
  void OnFrame(Link& link, absl::string_view frame) override {
    action_(link, frame);
  }
  void OnClosed(Link&, const absl::Status&) override { is_closed_ = true; }
  bool is_closed() const { return is_closed_; }

 private:
  const Action action_;
  bool is_closed_ = false;
};

// Another process that calls `answer` with each frame, and a link to it.
class Other {
 public:
  Other(Handler::Action answer, Handler::Action heard)
      : fork_([&] { Serve(std::move(answer)); }) {
    char byte = 0;
    HOPLITE_CHECK(recv(pair_[0].get(), &byte, 1, 0) == 1);  // it listens
    poller_ = *Poller::Create();
    link_ =
        poller_->Connect(address_, std::make_shared<Handler>(std::move(heard)));
  }
  ~Other() { poller_->Stop(); }

  Link& link() { return *link_; }
  // On the polling thread.
  void Do(std::function<void()> task) {
    poller_->At(absl::InfinitePast(), std::move(task));
  }
  void Await(absl::FunctionRef<bool()> done) {
    HOPLITE_CHECK(poller_->Wait(done, absl::InfiniteFuture()));
  }

 private:
  void Serve(Handler::Action answer) {
    const auto poller = *Poller::Create();
    const auto handler = std::make_shared<Handler>(std::move(answer));
    const auto listening =
        poller->Listen(address_, [&](const LinkPtr&) { return handler; });
    HOPLITE_CHECK(listening.ok());
    HOPLITE_CHECK(send(pair_[1].get(), "x", 1, 0) == 1);
    poller->Wait([&] { return handler->is_closed(); }, absl::InfiniteFuture());
    poller->Stop();
  }

  const Folder folder_;  // goes after the process that listens in it
  const std::string address_ = absl::StrCat("unix:", folder_.path(), "/socket");
  const std::array<FileDescriptor, 2> pair_ = MakePair();
  const Fork fork_;
  std::unique_ptr<Poller> poller_;
  LinkPtr link_;
};

void SendBack(Link& link, absl::string_view frame) { link.Send(frame); }

void BarePair(benchmark::State& state) {
  std::array<FileDescriptor, 2> pair = MakePair();
  const Fork fork([&] {
    pair[0].Close();
    std::array<char, 4> bytes{};
    while (recv(pair[1].get(), bytes.data(), bytes.size(), 0) > 0) {
      HOPLITE_CHECK(send(pair[1].get(), bytes.data(), bytes.size(), 0) > 0);
    }
  });
  std::array<char, 4> bytes{};
  for (auto _ : state) {
    HOPLITE_CHECK(send(pair[0].get(), bytes.data(), bytes.size(), 0) > 0);
    HOPLITE_CHECK(recv(pair[0].get(), bytes.data(), bytes.size(), 0) > 0);
  }
  pair[0].Close();
}
BENCHMARK(BarePair)->UseRealTime();

void RoundTrip(benchmark::State& state) {
  std::atomic<std::uint64_t> answers = 0;
  Other other(SendBack, [&](Link&, absl::string_view) { ++answers; });
  std::uint64_t sent = 0;
  for (auto _ : state) {
    other.link().Send("");
    ++sent;
    other.Await([&] { return answers == sent; });
  }
}
BENCHMARK(RoundTrip)->UseRealTime();

void InFlight(benchmark::State& state) {
  constexpr std::uint64_t kRound = 100'000;
  std::atomic<std::uint64_t> answers = 0;
  std::uint64_t sent = 0;  // of the polling thread, as `target`
  std::uint64_t target = 0;
  Other other(SendBack, [&](Link& link, absl::string_view) {
    ++answers;
    if (sent < target) {
      ++sent;
      link.Send(kFrame);
    }
  });
  for (auto _ : state) {
    const std::uint64_t end = answers + kRound;
    other.Do([&] {
      target = end;
      for (std::int64_t i = 0; i < state.range(0); ++i) {
        ++sent;
        other.link().Send(kFrame);
      }
    });
    other.Await([&] { return answers == end; });
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(answers.load()));
}
BENCHMARK(InFlight)->Arg(16)->Arg(256)->Arg(4096)->UseRealTime();

void SendAndCount(benchmark::State& state) {
  constexpr int kRound = 100'000;
  std::atomic<bool> answered = false;
  Other other(
      [](Link& link, absl::string_view frame) {
        if (frame == kLast) link.Send(frame);
      },
      [&](Link&, absl::string_view) { answered = true; });
  for (auto _ : state) {
    answered = false;
    for (int i = 0; i < kRound; ++i) other.link().Send(kFrame);
    other.link().Send(kLast);
    other.Await([&] { return answered.load(); });
  }
  state.SetItemsProcessed(state.iterations() * kRound);
}
BENCHMARK(SendAndCount)->UseRealTime();

}  // namespace
}  // namespace hoplite::task
