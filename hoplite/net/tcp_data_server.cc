#include "hoplite/net/tcp_data_server.h"

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "hoplite/base/check.h"
#include "hoplite/net/tcp_data_socket.h"
#include "hoplite/net/tcp_data_writer.h"

namespace hoplite {
namespace {

// Whoever has connected says what he wants within this, or is cut.
constexpr double kHelloSeconds = 10;
// A pull that is kept is not heard of for so long at most, by ticks of a
// second.
constexpr double kSilentSeconds = 0.5;

}  // namespace

class PullServer::ServedConnection final : private Watch::Handler,
                                           private BufferFollower::Owner {
 public:
  ServedConnection(PullServer& server, std::uint64_t number, int descriptor)
      : server_(server),
        number_(number),
        connection_(server.engine_, descriptor, this),
        silent_since_(SteadySeconds()) {
    connection_.WaitReadable();
  }

  std::uint64_t number() const { return number_; }
  NodeRef client() const {
    return hello_.has_value() ? hello_->client : NodeRef{};
  }
  // Between two pulls, of which the next has not begun to arrive.
  bool is_idle() const { return hello_.has_value() && !pull_ && got_ == 0; }
  bool is_unfinished() const { return !pull_ && !is_idle(); }

  void Serve(BufferPtr buffer);
  void Refuse();
  // True: wants to be called again in a second.
  bool OnTick();
  // Ends the pull, where there is one, and the connection.
  void Close();

 private:
  void OnReadable() override;
  void OnWritable() override { Write(); }
  void OnBufferChanged() override {
    if (!blocked_) Write();
  }

  bool TakeRecords();
  void Write();
  // That this node lives, to who waits for the answer to a pull.
  void SayAlive();

  PullServer& server_;
  const std::uint64_t number_;
  Connection connection_;
  double silent_since_;

  std::array<std::byte, kHelloBytes + kPullRequestBytes> input_;
  std::size_t got_ = 0;  // of input_, which without hello begins with it
  std::optional<Hello> hello_;

  PullId pull_;  // none: no pull is under way
  PullRequest request_;
  std::optional<FrameWriter> writer_;  // once it is granted or refused
  std::unique_ptr<BufferFollower> follower_;
  bool blocked_ = false;
};

void PullServer::ServedConnection::OnReadable() {
  // A client says nothing while it pulls: this is its end.
  if (pull_) return Close();
  const std::size_t wanted =
      (hello_.has_value() ? 0 : kHelloBytes) + kPullRequestBytes;
  iovec part{&input_[got_], wanted - got_};
  const std::ptrdiff_t count = Receive(connection_.descriptor(), {&part, 1});
  if (count < 0) return Close();
  if (got_ == 0) {
    silent_since_ = SteadySeconds();
    server_.engine_.loop.StartTicking();
  }
  got_ += static_cast<std::size_t>(count);
  if (!TakeRecords()) return Close();
  connection_.WaitReadable();
}

// False: what came is not acceptable.
bool PullServer::ServedConnection::TakeRecords() {
  std::size_t begin = 0;
  if (!hello_.has_value()) {
    if (got_ < kHelloBytes) return true;
    const auto hello = DecodeHello(std::span(input_).first<kHelloBytes>());
    if (!hello.ok() || !server_.Accepts(*hello)) return false;
    hello_ = *hello;
    begin = kHelloBytes;
    got_ -= kHelloBytes;
    std::copy_n(input_.begin() + begin, got_, input_.begin());
  }
  if (got_ < kPullRequestBytes) return true;
  const auto request =
      DecodePullRequest(std::span(input_).first<kPullRequestBytes>());
  if (!request.has_value()) return false;
  got_ = 0;
  request_ = *request;
  silent_since_ = SteadySeconds();
  server_.engine_.loop.StartTicking();
  pull_ = server_.AddPull(*this, request_);
  return true;
}

void PullServer::ServedConnection::SayAlive() {
  std::array<std::byte, kFrameHeaderBytes> header;
  EncodeFrameHeader(
      {.kind = FrameKind::kKeepAlive,
       .transfer = request_.transfer,
       .generation_digest = GenerationDigest(request_.generation)},
      header);
  iovec part{header.data(), header.size()};
  // Little has been said on this connection, so there is room for so little.
  if (Send(connection_.descriptor(), {&part, 1}) !=
      static_cast<std::ptrdiff_t>(header.size())) {
    Close();
  }
}

void PullServer::ServedConnection::Serve(BufferPtr buffer) {
  if (writer_.has_value()) return;
  if (buffer->size() != request_.size) return Refuse();
  writer_.emplace(request_, buffer);
  BufferFollower::Owner& self = *this;
  follower_ = std::make_unique<BufferFollower>(server_.engine_.loop,
                                               std::move(buffer), self);
  server_.engine_.loop.StartTicking();
  Write();
}

void PullServer::ServedConnection::Refuse() {
  if (!writer_.has_value()) writer_.emplace(request_, nullptr);
  writer_->Refuse();
  if (!blocked_) Write();
}

void PullServer::ServedConnection::Write() {
  blocked_ = false;
  const FrameWriter::Outcome outcome = writer_->Write(connection_.descriptor());
  server_.engine_.payload_bytes_sent.Add(writer_->TakePayloadBytesSent());
  switch (outcome) {
    case FrameWriter::Outcome::kIdle:
      return;
    case FrameWriter::Outcome::kBlocked:
      blocked_ = true;
      return connection_.WaitWritable();
    case FrameWriter::Outcome::kBroken:
      return Close();
    case FrameWriter::Outcome::kDone:
      writer_.reset();
      follower_.reset();
      silent_since_ = SteadySeconds();
      return server_.EndPull(std::exchange(pull_, PullId()));
  }
}

bool PullServer::ServedConnection::OnTick() {
  if (writer_.has_value()) {
    if (writer_->RequestKeepAlive() && !blocked_) Write();
    return true;
  }
  if (pull_) {
    if (SteadySeconds() - silent_since_ > kSilentSeconds) SayAlive();
    return true;
  }
  if (!is_unfinished()) return false;
  if (SteadySeconds() - silent_since_ > kHelloSeconds) Close();
  return true;
}

void PullServer::ServedConnection::Close() {
  follower_.reset();
  writer_.reset();
  if (pull_) server_.EndPull(std::exchange(pull_, PullId()));
  server_.Remove(*this);
}

PullServer::PullServer(DataEngine& engine, const Peers& peers, int listener)
    : engine_(engine), peers_(peers) {
  Watch::Handler* const self = this;
  listener_.emplace(engine.loop, listener, self);
}

PullServer::~PullServer() = default;

void PullServer::CloseAll() {
  listener_.reset();
  pulls_.clear();
  connections_.clear();
}

void PullServer::OnReadable() {
  for (;;) {
    const AcceptResult accepted = Accept(listener_->descriptor());
    if (accepted.descriptor >= 0) {
      const std::uint64_t number = ++last_connection_;
      connections_.emplace(number, std::make_shared<ServedConnection>(
                                       *this, number, accepted.descriptor));
      engine_.loop.StartTicking();
      continue;
    }
    if (!accepted.exhausted) return listener_->WaitReadable();
    // A descriptor comes back at the end of this turn.
    if (CloseOneIdle()) return listener_->WaitReadable();
    // Asking the kernel again before something ends would be a busy wait.
    exhausted_ = true;
    return engine_.loop.StartTicking();
  }
}

// Makes room for a new connection at the cost of one that serves nobody: its
// client opens another when it needs one.
bool PullServer::CloseOneIdle() {
  for (const auto& [number, connection] : connections_) {
    if (!connection->is_idle()) continue;
    connection->Close();
    return true;
  }
  return false;
}

bool PullServer::Accepts(const Hello& hello) const {
  return hello.cluster == engine_.cluster && hello.server == engine_.self &&
         hello.client && peers_.MayCall(hello.client);
}

PullId PullServer::AddPull(ServedConnection& connection,
                           const PullRequest& request) {
  last_pull_ = last_pull_.Next();
  const PullId pull = last_pull_;
  pulls_.emplace(pull, connection.number());
  engine_.pulls_served.Add(1);
  engine_.Emit(event::PullRequested{.pull = pull,
                                    .peer = connection.client(),
                                    .key = request.key,
                                    .generation = request.generation,
                                    .begin = request.begin,
                                    .frame_bytes = request.frame_bytes});
  return pull;
}

void PullServer::EndPull(PullId pull) {
  pulls_.erase(pull);
  engine_.Emit(event::PullEnded{pull});
}

std::shared_ptr<PullServer::ServedConnection> PullServer::Find(
    PullId pull) const {
  const auto found = pulls_.find(pull);
  return found == pulls_.end() ? nullptr : connections_.at(found->second);
}

void PullServer::Serve(PullId pull, BufferPtr buffer) {
  HOPLITE_CHECK(buffer != nullptr);
  if (const auto connection = Find(pull)) connection->Serve(std::move(buffer));
}

void PullServer::Refuse(PullId pull) {
  if (const auto connection = Find(pull)) connection->Refuse();
}

void PullServer::CutForgotten() {
  std::vector<std::shared_ptr<ServedConnection>> cut;
  for (const auto& [number, connection] : connections_) {
    if (!peers_.MayCall(connection->client())) cut.push_back(connection);
  }
  for (const auto& connection : cut) connection->Close();
}

void PullServer::Remove(ServedConnection& connection) {
  const auto found = connections_.find(connection.number());
  if (found == connections_.end()) return;
  // It may be the caller. Its descriptor is closed with it, at the end of
  // this turn.
  engine_.loop.DestroyLater(std::move(found->second));
  connections_.erase(found);
  if (std::exchange(exhausted_, false)) listener_->WaitReadable();
}

bool PullServer::OnTick() {
  bool again = false;
  std::vector<std::shared_ptr<ServedConnection>> all;
  all.reserve(connections_.size());
  for (const auto& [number, connection] : connections_) {
    all.push_back(connection);
  }
  for (const auto& connection : all) again |= connection->OnTick();
  if (std::exchange(exhausted_, false)) {
    listener_->WaitReadable();
    again = true;
  }
  return again;
}

}  // namespace hoplite
