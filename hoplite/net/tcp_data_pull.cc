#include "hoplite/net/tcp_data_pull.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <span>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "hoplite/net/tcp_data_socket.h"

namespace hoplite {
namespace {

constexpr double kConnectSeconds = 5;
// A server says something once a second.
constexpr int kSilentTicksMax = 3;

}  // namespace

Pull::Pull(DataEngine& engine, Peers& peers, const PullRequest& request,
           NodeRef server, Owner& owner)
    : engine_(engine),
      peers_(peers),
      request_(request),
      server_(server),
      owner_(owner),
      reader_(request_, owner) {}

Pull::~Pull() { Cut(); }

void Pull::Start() {
  engine_.transfers_started.Add(1);
  connection_ = peers_.TakeIdle(server_);
  if (connection_ == nullptr) return peers_.Find(server_, *this);
  pooled_ = true;
  connection_->SetHandler(this);
  Ask(/*with_hello=*/false);
}

void Pull::Cut() {
  if (std::exchange(ended_, true)) return;
  peers_.StopAsking(*this);
  connection_.reset();
}

void Pull::OnEndpoints(const std::vector<Endpoint>& endpoints) {
  endpoints_ = endpoints;
  ConnectToNext();
}

void Pull::ConnectToNext() {
  while (next_endpoint_ < endpoints_.size()) {
    const Endpoint& endpoint = endpoints_[next_endpoint_++];
    int descriptor = StartConnect(endpoint);
    // An idle connection is worth less than a new one.
    if (descriptor < 0 && errno == EMFILE && peers_.CloseOldestIdle()) {
      descriptor = StartConnect(endpoint);
    }
    if (descriptor < 0) {
      Note(std::strerror(errno));
      continue;
    }
    Note("no answer yet");
    connection_ = std::make_unique<Connection>(
        engine_, descriptor, static_cast<Watch::Handler*>(this));
    connecting_ = true;
    connecting_since_ = SteadySeconds();
    engine_.loop.StartTicking();
    return connection_->WaitWritable();
  }
  peers_.DropEndpoints(server_);
  Finish(End::kBroken);
}

void Pull::OnWritable() {
  if (ended_ || !std::exchange(connecting_, false)) return;
  if (const int error = ConnectError(connection_->descriptor()); error != 0) {
    Note(std::strerror(error));
    return OnBroken();
  }
  Ask(/*with_hello=*/true);
}

void Pull::Ask(bool with_hello) {
  std::array<std::byte, kHelloBytes> hello;
  std::array<std::byte, kPullRequestBytes> request;
  EncodeHello(
      {.cluster = engine_.cluster, .client = engine_.self, .server = server_},
      hello);
  EncodePullRequest(request_, request);
  std::array<iovec, 2> parts = {iovec{hello.data(), hello.size()},
                                iovec{request.data(), request.size()}};
  const std::span used =
      with_hello ? std::span<iovec>(parts) : std::span<iovec>(parts).last(1);
  const std::size_t bytes =
      request.size() + (with_hello ? hello.size() : std::size_t{0});
  // Nothing is on its way on this connection, so there is room for so little.
  if (Send(connection_->descriptor(), used) !=
      static_cast<std::ptrdiff_t>(bytes)) {
    return OnBroken();
  }
  silent_ticks_ = 0;
  engine_.loop.StartTicking();
  connection_->WaitReadable();
}

void Pull::ResumeReading() {
  if (std::exchange(no_room_, false)) engine_.loop.Defer(*this);
}

void Pull::OnReadable() {
  if (ended_ || connection_ == nullptr) return;
  silent_ticks_ = 0;
  switch (reader_.Read(connection_->descriptor())) {
    case FrameReader::Outcome::kWaits:
      return connection_->WaitReadable();
    case FrameReader::Outcome::kNoRoom:
      no_room_ = true;
      return;
    case FrameReader::Outcome::kDone:
      return Finish(End::kDone);
    case FrameReader::Outcome::kRefused:
      return Finish(End::kRefused);
    case FrameReader::Outcome::kBroken:
      return OnBroken();
    case FrameReader::Outcome::kCorrupt:
      engine_.checksum_errors.Add(1);
      Note("a wrong checksum");
      return Finish(End::kBroken);
  }
}

// Where nothing has been heard, it may only have been the wrong connection.
void Pull::OnBroken() {
  if (reader_.heard()) {
    Note("the stream broke");
    return Finish(End::kBroken);
  }
  // This may be a call from the connection.
  engine_.loop.DestroyLater(std::move(connection_));
  if (std::exchange(pooled_, false)) return peers_.Find(server_, *this);
  ConnectToNext();
}

bool Pull::OnTick() {
  if (ended_) return false;
  if (connecting_) {
    if (SteadySeconds() - connecting_since_ > kConnectSeconds) {
      connecting_ = false;
      Note("connecting timed out");
      OnBroken();
    }
  } else if (connection_ != nullptr && !no_room_ &&
             ++silent_ticks_ > kSilentTicksMax) {
    Note("silence");
    Finish(End::kBroken);
  }
  return !ended_;
}

void Pull::Note(absl::string_view trouble) {
  // A pooled connection does not say where it leads.
  engine_.troubles.Note(
      server_, next_endpoint_ == 0
                   ? std::string(trouble)
                   : absl::StrCat(endpoints_[next_endpoint_ - 1].ToString(),
                                  ": ", trouble));
}

void Pull::Finish(End end) {
  if (ended_) return;
  if (end == End::kDone) engine_.troubles.Forget(server_);
  if (connection_ != nullptr) {
    if (end == End::kBroken) {
      engine_.loop.DestroyLater(std::move(connection_));
    } else {
      peers_.PutIdle(server_, std::move(connection_));
    }
  }
  ended_ = true;
  owner_.OnPullEnded(end);
}

}  // namespace hoplite
