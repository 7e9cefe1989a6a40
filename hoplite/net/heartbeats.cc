#include "hoplite/net/heartbeats.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_format.h"
#include "hoplite/base/check.h"
#include "hoplite/base/status_macros.h"
#include "hoplite/net/host_port.h"
#include "hoplite/net/tcp_data_address.h"
#include "hoplite/wire/frame.h"

namespace hoplite {
namespace {

// What is not answered is sent again so many times in an interval.
constexpr int kTriesInInterval = 4;

std::chrono::steady_clock::duration ToClock(absl::Duration duration) {
  return absl::ToChronoNanoseconds(duration);
}

int OpenDatagrams(const Endpoint& endpoint) {
  return ::socket(endpoint.storage.ss_family,
                  SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
}

// A socket whose datagrams go to the address; -1: it leads nowhere now.
int ConnectDatagrams(const std::string& address) {
  const auto host_port = HostPort::Parse(address);
  if (!host_port.ok()) return -1;
  const auto endpoints = Resolve(*host_port, Resolution::kNames);
  if (!endpoints.ok()) return -1;
  for (const Endpoint& endpoint : *endpoints) {
    const int descriptor = OpenDatagrams(endpoint);
    if (descriptor < 0) continue;
    if (::connect(descriptor, endpoint.address(), endpoint.length) == 0) {
      return descriptor;
    }
    ::close(descriptor);
  }
  return -1;
}

}  // namespace

Heartbeats::Heartbeats(HeartbeatOptions options)
    : interval_(ToClock(options.interval)),
      dead_after_(ToClock(options.dead_after)),
      wake_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
  HOPLITE_CHECK(wake_ >= 0);
}

absl::StatusOr<std::unique_ptr<Heartbeats>> Heartbeats::Listen(
    absl::string_view address, HeartbeatOptions options) {
  HOPLITE_ASSIGN_OR_RETURN(const HostPort listen, HostPort::Parse(address));
  HOPLITE_ASSIGN_OR_RETURN(const std::vector<Endpoint> endpoints,
                           Resolve(listen, Resolution::kNames));
  int error = 0;
  for (const Endpoint& endpoint : endpoints) {
    const int descriptor = OpenDatagrams(endpoint);
    if (descriptor >= 0 &&
        ::bind(descriptor, endpoint.address(), endpoint.length) == 0) {
      auto heartbeats = std::make_unique<Heartbeats>(options);
      {
        MutexLock lock(heartbeats->mutex_);
        heartbeats->socket_ = descriptor;
      }
      return heartbeats;
    }
    error = errno;
    if (descriptor >= 0) ::close(descriptor);
  }
  return absl::UnavailableError(absl::StrFormat(
      "cannot take heartbeats (UDP) at %s: %s; choose another port", address,
      std::strerror(error)));
}

Heartbeats::~Heartbeats() {
  Stop();
  ::close(wake_);
}

void Heartbeats::Start(ClusterId cluster, NodeRef self, EventSink sink,
                       TouchSink touch) {
  HOPLITE_CHECK(!thread_.joinable());
  cluster_ = cluster;
  self_ = self;
  sink_ = std::move(sink);
  touch_ = std::move(touch);
  last_run_ = Clock::now();
  thread_ = std::thread([this] { Run(); });
}

bool Heartbeats::MayBeGivenUp() const {
  // In this order: what the thread finds out it says before it has run.
  const Clock::time_point last_run = last_run_;
  return unconfirmed_ || (follows_ && Clock::now() - last_run >= dead_after_);
}

void Heartbeats::Expect(NodeRef member) {
  MutexLock lock(mutex_);
  expected_[member] = Clock::now();
}

void Heartbeats::Forget(NodeRef member) {
  MutexLock lock(mutex_);
  expected_.erase(member);
}

void Heartbeats::Follow(const Member& head) {
  {
    MutexLock lock(mutex_);
    if (socket_ >= 0) ::close(std::exchange(socket_, -1));
    followed_ = Followed{.head = head.ref,
                         .address = head.control_address,
                         .sent = {},
                         .heard = Clock::now()};
  }
  follows_ = true;
  Wake();
}

void Heartbeats::ConnectIfNew() {
  std::string address;
  {
    MutexLock lock(mutex_);
    if (!followed_.has_value() || socket_ >= 0) return;
    address = followed_->address;
  }
  const int descriptor = ConnectDatagrams(address);
  if (descriptor < 0) return;
  MutexLock lock(mutex_);
  if (followed_->address == address && socket_ < 0) {
    socket_ = descriptor;
  } else {
    ::close(descriptor);
  }
}

void Heartbeats::Stop() {
  {
    MutexLock lock(mutex_);
    stopping_ = true;
  }
  Wake();
  if (thread_.joinable()) thread_.join();
  MutexLock lock(mutex_);
  if (socket_ >= 0) ::close(std::exchange(socket_, -1));
}

void Heartbeats::Wake() {
  const std::uint64_t one = 1;
  (void)!::write(wake_, &one, sizeof(one));
}

void Heartbeats::Run() {
  for (;;) {
    WaitForWork();
    ConnectIfNew();
    const Clock::time_point now = Clock::now();
    Receive(now);
    std::vector<Event> silent;
    {
      MutexLock lock(mutex_);
      if (stopping_) return;
      ForgiveOwnPause(now);
      while (std::optional<Event> one = FindSilent(now)) {
        silent.push_back(*std::move(one));
      }
      BeatIfDue(now);
    }
    for (Event& one : silent) sink_(std::move(one));
    if (touch_ != nullptr) touch_(!unconfirmed_);
  }
}

void Heartbeats::WaitForWork() {
  int descriptor = -1;
  {
    MutexLock lock(mutex_);
    descriptor = socket_;
  }
  pollfd waited[] = {{.fd = wake_, .events = POLLIN, .revents = 0},
                     {.fd = descriptor, .events = POLLIN, .revents = 0}};
  const auto wait = std::chrono::duration_cast<std::chrono::milliseconds>(
      interval_ / kTriesInInterval);
  (void)::poll(waited, 2, static_cast<int>(wait.count()) + 1);
  std::uint64_t ignored = 0;
  (void)!::read(wake_, &ignored, sizeof(ignored));
}

void Heartbeats::Receive(Clock::time_point now) {
  for (;;) {
    std::array<std::byte, kHelloBytes> bytes;
    Endpoint from;
    from.length = sizeof(from.storage);
    MutexLock lock(mutex_);
    const ssize_t count =
        ::recvfrom(socket_, bytes.data(), bytes.size(), MSG_DONTWAIT,
                   from.mutable_address(), &from.length);
    if (count < 0 && errno == ECONNREFUSED) continue;  // of an earlier beat
    if (count < 0) return;
    if (count != static_cast<ssize_t>(bytes.size())) continue;
    const auto beat = DecodeHello(bytes);
    if (!beat.ok() || beat->cluster != cluster_ || beat->server != self_) {
      continue;
    }
    if (followed_.has_value()) {
      if (beat->client != followed_->head) continue;
      followed_->heard = now;
      followed_->silent = false;
      unconfirmed_ = false;
      continue;
    }
    const auto expected = expected_.find(beat->client);
    if (expected == expected_.end()) continue;
    expected->second = now;
    EncodeHello({.cluster = cluster_, .client = self_, .server = beat->client},
                bytes);
    (void)::sendto(socket_, bytes.data(), bytes.size(),
                   MSG_DONTWAIT | MSG_NOSIGNAL, from.address(), from.length);
  }
}

void Heartbeats::ForgiveOwnPause(Clock::time_point now) {
  const Clock::duration pause = now - last_run_.load();
  // What was there already was an answer to what was asked before.
  if (pause >= dead_after_ && followed_.has_value()) unconfirmed_ = true;
  last_run_ = now;
  if (pause < interval_) return;
  for (auto& [member, heard] : expected_) heard += pause;
  if (followed_.has_value()) followed_->heard += pause;
}

std::optional<Event> Heartbeats::FindSilent(Clock::time_point now) {
  for (const auto& [member, heard] : expected_) {
    if (now - heard <= dead_after_) continue;
    const NodeRef silent = member;
    expected_.erase(silent);
    return event::PeerDied{silent};
  }
  if (followed_.has_value() && !followed_->silent &&
      now - followed_->heard > dead_after_) {
    followed_->silent = true;
    return event::PeerLost{followed_->head};
  }
  return std::nullopt;
}

void Heartbeats::BeatIfDue(Clock::time_point now) {
  if (!followed_.has_value() || socket_ < 0) return;
  const bool answered = followed_->heard >= followed_->sent;
  const Clock::duration pause =
      answered ? interval_ : interval_ / kTriesInInterval;
  if (now - followed_->sent < pause) return;
  followed_->sent = now;
  std::array<std::byte, kHelloBytes> bytes;
  EncodeHello({.cluster = cluster_, .client = self_, .server = followed_->head},
              bytes);
  (void)::send(socket_, bytes.data(), bytes.size(),
               MSG_DONTWAIT | MSG_NOSIGNAL);
}

}  // namespace hoplite
