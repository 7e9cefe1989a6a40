// What a Get of a small object costs whose record is on another node, beside
// a bare gRPC stream's echo of as many bytes.
//
//   bazel run --config=bench //hoplite/api:small_get_benchmark
//
// All ends are in this process, over loopback. BM_SmallGet/embedded and
// BM_Echo with the same number of bytes belong together.

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "benchmark/benchmark.h"
#include "hoplite/api/hoplite.h"
#include "hoplite/base/check.h"
#include "hoplite/base/digest.h"
#include "hoplite/net/grpc_echo.h"
#include "hoplite/runtime/node_server.h"

namespace hoplite {
namespace {

constexpr std::uint64_t kStoreBytes = std::uint64_t{256} << 20;
// Objects that are put at a time, outside the clock.
constexpr int kObjects = 500;

// Two nodes; the head hosts no shard, so that each of its Gets of an object
// that it has not yet is a round trip to the other.
class Pair {
 public:
  explicit Pair(bool over_socket) {
    NodeOptions options{.store_bytes = kStoreBytes};
    std::string head_address;
    if (over_socket) {
      options.serve_clients = true;
      options.socket_path = absl::StrCat(
          std::filesystem::temp_directory_path().string(), "/small-get.sock");
      node_ = *NodeServer::Start(options);
      asker_ = *Client::Connect(options.socket_path);
      head_address = node_->control_address();
    } else {
      asker_ = *Client::Embed(options);
      head_address = asker_->Report()->control_address;
    }
    putter_ =
        *Client::Embed({.join = head_address, .store_bytes = kStoreBytes});
    // The shards move when the other has joined.
    while (asker_->Report()->status.shards.front().host ==
           asker_->Report()->status.self) {
    }
  }
  Client& asker() { return *asker_; }
  Client& putter() { return *putter_; }

 private:
  std::unique_ptr<NodeServer> node_;
  std::unique_ptr<Client> asker_;
  std::unique_ptr<Client> putter_;
};

void BM_SmallGet(benchmark::State& state, bool over_socket) {
  static int last_name = 0;
  Pair pair(over_socket);
  const std::string bytes(static_cast<std::size_t>(state.range(0)), 'x');
  std::vector<ObjectId> ids;
  for (auto _ : state) {
    if (ids.empty()) {
      state.PauseTiming();
      for (int i = 0; i < kObjects; ++i) {
        ids.push_back(IdFromName(absl::StrCat("object ", ++last_name)));
        HOPLITE_CHECK(pair.putter()
                          .Put(ids.back(), std::as_bytes(std::span(bytes)))
                          .ok());
      }
      state.ResumeTiming();
    }
    HOPLITE_CHECK(pair.asker().Get(ids.back()).ok());
    ids.pop_back();
  }
}
BENCHMARK_CAPTURE(BM_SmallGet, embedded, false)
    ->Arg(64)
    ->Arg(1024)
    ->UseRealTime();
BENCHMARK_CAPTURE(BM_SmallGet, socket, true)->Arg(64)->Arg(1024)->UseRealTime();

// A Get of an object that is here already.
void BM_LocalGet(benchmark::State& state, bool over_socket) {
  Pair pair(over_socket);
  const ObjectId id = IdFromName("local");
  HOPLITE_CHECK(pair.asker().Put(id, std::as_bytes(std::span("x", 1))).ok());
  for (auto _ : state) HOPLITE_CHECK(pair.asker().Get(id).ok());
}
BENCHMARK_CAPTURE(BM_LocalGet, embedded, false)->UseRealTime();
BENCHMARK_CAPTURE(BM_LocalGet, socket, true)->UseRealTime();

void BM_Echo(benchmark::State& state) {
  const auto server = EchoServer::Listen("127.0.0.1:0");
  HOPLITE_CHECK(server.ok());
  const auto client = EchoClient::Connect((*server)->address());
  HOPLITE_CHECK(client.ok());
  const std::string bytes(static_cast<std::size_t>(state.range(0)), 'x');
  for (auto _ : state) HOPLITE_CHECK((*client)->Echo(bytes).ok());
}
BENCHMARK(BM_Echo)->Arg(64)->Arg(1024)->UseRealTime();

}  // namespace
}  // namespace hoplite
