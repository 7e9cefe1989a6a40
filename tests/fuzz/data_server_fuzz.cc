// Clients that send anything, or nothing, to a node's data plane.
//
// The input is what a few connections send, bit by bit and in turn: hellos and
// pulls with one field changed, whole or cut, and bytes of its own. They stay
// open until the end; meanwhile an honest client gets what it asks for.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "hoplite/base/check.h"
#include "hoplite/core/event.h"
#include "hoplite/net/data_plane.h"
#include "hoplite/net/tcp_data.h"
#include "hoplite/net/tcp_data_raw_peer.h"
#include "hoplite/net/tcp_data_testing.h"
#include "hoplite/wire/frame.h"
#include "tests/fuzz/fuzz_input.h"

namespace hoplite::fuzz {
namespace {

constexpr ClusterId kCluster{7};
constexpr NodeRef kServer{NodeId(1), Incarnation(1)};
constexpr NodeRef kHonest{NodeId(2), Incarnation(2)};
constexpr std::uint64_t kSize = 5000;
constexpr std::uint32_t kFrame = 2048;
// Each has a port of its own, so that none runs out of connections.
constexpr int kInputsOfAServer = 2000;

// The objects that there are: one is served, one is refused, and whoever asks
// for the third waits.
const PullKey kServed{.object = TestObject(1)};
const PullKey kRefused{.object = TestObject(2)};

PullRequest GoodRequest() {
  return {.transfer = TransferId(1),
          .key = kServed,
          .generation = TestGeneration(1),
          .size = kSize,
          .frame_bytes = kFrame};
}

class ServingNode {
 public:
  ServingNode() : plane_(ListenTcpData({}).value()) {
    plane_->Start(kCluster, kServer, [this](const Event& event) {
      const auto* const pull = std::get_if<event::PullRequested>(&event);
      if (pull == nullptr) return;
      if (pull->key == kServed) plane_->ServePull(pull->pull, object_);
      if (pull->key == kRefused) plane_->RefusePull(pull->pull);
    });
    honest_.emplace(Connect());
    honest_->Send(EncodedHello(
        {.cluster = kCluster, .client = kHonest, .server = kServer}));
  }
  ~ServingNode() { plane_->Shutdown(); }

  RawSocket Connect() const {
    return RawSocket::ConnectTo({.ref = kServer,
                                 .control_address = "",
                                 .data_address = plane_->address()});
  }
  void ServeHonestly() const {
    honest_->Send(EncodedRequest(GoodRequest()));
    for (std::uint64_t at = 0; at < kSize; at += kFrame) {
      const Bytes frame = EncodedFrame(GoodRequest(), *object_, at);
      HOPLITE_CHECK(honest_->Receive(frame.size()) == frame);
    }
  }

 private:
  const BufferPtr object_ = NewFilledBuffer(kSize, 1);
  const std::unique_ptr<DataPlane> plane_;
  std::optional<RawSocket> honest_;
};

Bytes DrawHello(FuzzInput& input) {
  Hello hello{.cluster = kCluster, .client = kRawNode, .server = kServer};
  const std::uint64_t lie = std::uint64_t{1} << input.Below(64);
  switch (input.Below(8)) {
    case 0:
      hello.cluster = ClusterId(lie);
      break;
    case 1:
      hello.client = {NodeId(static_cast<std::uint32_t>(lie)),
                      Incarnation(lie)};
      break;
    case 2:
      hello.server.incarnation = Incarnation(lie);
      break;
    default:
      break;
  }
  return EncodedHello(hello);
}

Bytes DrawRequest(FuzzInput& input) {
  PullRequest request = GoodRequest();
  const std::uint64_t lie = std::uint64_t{1} << input.Below(64);
  request.key.object = TestObject(static_cast<std::uint8_t>(input.Below(4)));
  switch (input.Below(8)) {
    case 0:
      request.key.position = static_cast<std::uint32_t>(lie);
      break;
    case 1:
      request.generation.counter ^= lie;
      break;
    case 2:
      request.begin ^= lie;
      break;
    case 3:
      request.size ^= lie;
      break;
    case 4:
      request.frame_bytes = static_cast<std::uint32_t>(lie);
      break;
    case 5:
      request.begin = request.size = lie;
      break;
    default:
      break;
  }
  return EncodedRequest(request);
}

Bytes DrawBytes(FuzzInput& input) {
  switch (input.Below(4)) {
    case 0:
      return DrawHello(input);
    case 1: {
      Bytes both = DrawHello(input);
      const Bytes request = DrawRequest(input);
      both.insert(both.end(), request.begin(), request.end());
      return both;
    }
    case 2:
      return DrawRequest(input);
    default: {
      const auto bytes = std::as_bytes(input.Bytes(input.Byte()));
      return {bytes.begin(), bytes.end()};
    }
  }
}

void Run(const ServingNode& node, FuzzInput& input) {
  std::vector<RawSocket> sockets;
  const std::size_t count = 1 + input.Below(3);
  for (std::size_t i = 0; i < count; ++i) sockets.push_back(node.Connect());
  while (!input.empty()) {
    RawSocket& socket = sockets[input.Below(count)];
    Bytes bytes = DrawBytes(input);
    const std::uint8_t cut = input.Byte();
    if (cut < bytes.size()) bytes.resize(cut);
    socket.Send(bytes);
    if (cut == 255) socket.Close();
  }
  node.ServeHonestly();
}

}  // namespace
}  // namespace hoplite::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  using hoplite::fuzz::ServingNode;
  static std::optional<ServingNode> node;
  static int inputs = 0;
  if (inputs++ % hoplite::fuzz::kInputsOfAServer == 0) node.emplace();
  hoplite::fuzz::FuzzInput input(data, size);
  hoplite::fuzz::Run(*node, input);
  return 0;
}
