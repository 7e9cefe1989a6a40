// A control message there and back, beside a bare gRPC stream's echo.
//
//   bazel run --config=bench //hoplite/net:grpc_echo_benchmark
//
// The answering end is a process of its own. BM_BareEcho and BM_ControlEcho
// with the same number of bytes belong together: their ratio is what the
// transport costs. BM_ControlEcho sends an Ask and gets a Refusal whose reason
// fills the message; the sender blocks on a condition until it is there.

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "benchmark/benchmark.h"
#include "hoplite/base/check.h"
#include "hoplite/base/mutex.h"
#include "hoplite/net/control_transport.h"
#include "hoplite/net/grpc_control.h"
#include "hoplite/net/grpc_echo.h"

namespace hoplite {
namespace {

constexpr ClusterId kCluster(1);
constexpr NodeRef kAsker{.node = NodeId(1), .incarnation = Incarnation(1)};
constexpr NodeRef kAnswerer{.node = NodeId(2), .incarnation = Incarnation(2)};

std::unique_ptr<ControlTransport> ListenControl() {
  auto control =
      GrpcControl::Listen({.listen = "127.0.0.1:0", .advertise = ""});
  HOPLITE_CHECK(control.ok());
  return *std::move(control);
}

// A process that answers, started before this one has any thread. One for
// each echo: two polling threads in one process would wake each other.
class Answerer {
 public:
  // `serve` returns the address where it answers from then on.
  explicit Answerer(std::string (*serve)()) {
    std::array<int, 2> ends;
    HOPLITE_CHECK(pipe(ends.data()) == 0);
    process_ = fork();
    HOPLITE_CHECK(process_ >= 0);
    if (process_ == 0) Run(serve, ends[1]);
    FILE* in = fdopen(ends[0], "r");
    std::array<char, 128> address;
    HOPLITE_CHECK(fscanf(in, "%127s", address.data()) == 1);
    fclose(in);
    close(ends[1]);
    address_ = address.data();
  }
  ~Answerer() {
    kill(process_, SIGKILL);
    waitpid(process_, nullptr, 0);
  }
  const std::string& address() const { return address_; }

 private:
  [[noreturn]] static void Run(std::string (*serve)(), int out) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    dprintf(out, "%s\n", serve().c_str());
    for (;;) pause();
  }

  pid_t process_ = 0;
  std::string address_;
};

std::string ServeBareEcho() {
  static auto echo = EchoServer::Listen("127.0.0.1:0");
  HOPLITE_CHECK(echo.ok());
  return (*echo)->address();
}

std::string ServeControlEcho() {
  static std::unique_ptr<ControlTransport> control = ListenControl();
  control->Start(kCluster, kAnswerer, [](Event event) {
    const auto* heard = std::get_if<event::MessageReceived>(&event);
    if (heard == nullptr) return;
    const auto* ask = std::get_if<message::Ask>(&heard->message);
    if (ask == nullptr) return;
    control->Send(heard->from,
                  message::Refusal{.at = ask->at,
                                   .object = ask->object,
                                   .ask = ask->ask,
                                   .code = absl::StatusCode::kNotFound,
                                   .reason = std::string(ask->begin, 'x')});
  });
  return control->address();
}

// Before main, and so before gRPC has threads.
const Answerer bare_answerer(&ServeBareEcho);
const Answerer control_answerer(&ServeControlEcho);

// Runs `echo` warm, and reports the quick tenth and the median beside the
// mean: on a busy machine the quick tenth is what the code costs.
template <typename Echo>
void Measure(benchmark::State& state, Echo echo) {
  using Clock = std::chrono::steady_clock;
  for (int i = 0; i < 1000; ++i) echo();
  std::vector<double> microseconds;
  for (auto _ : state) {
    const Clock::time_point start = Clock::now();
    echo();
    microseconds.push_back(
        std::chrono::duration<double, std::micro>(Clock::now() - start)
            .count());
  }
  std::ranges::sort(microseconds);
  state.counters["p10_us"] = microseconds[microseconds.size() / 10];
  state.counters["p50_us"] = microseconds[microseconds.size() / 2];
}

void BM_BareEcho(benchmark::State& state) {
  auto client = EchoClient::Connect(bare_answerer.address());
  HOPLITE_CHECK(client.ok());
  const std::string bytes(state.range(0), 'x');
  Measure(state, [&] { HOPLITE_CHECK((*client)->Echo(bytes).ok()); });
}

void BM_ControlEcho(benchmark::State& state) {
  std::unique_ptr<ControlTransport> control = ListenControl();
  Mutex mutex;
  CondVar arrived;
  std::uint64_t answered = 0;
  control->Start(kCluster, kAsker, [&](Event event) {
    const auto* heard = std::get_if<event::MessageReceived>(&event);
    if (heard == nullptr) return;
    {
      MutexLock lock(mutex);
      answered = std::get<message::Refusal>(heard->message).ask.value();
    }
    arrived.NotifyOne();
  });
  control->Learn({.ref = kAnswerer,
                  .control_address = control_answerer.address(),
                  .data_address = ""});
  std::uint64_t asked = 0;
  Measure(state, [&] {
    message::Ask ask;
    ask.ask = AskNumber(++asked);
    ask.begin = state.range(0) > 50 ? state.range(0) - 50 : 0;
    control->Send(kAnswerer, ask);
    MutexLock lock(mutex);
    while (answered != asked) arrived.Wait(mutex);
  });
  control->Shutdown();
}

BENCHMARK(BM_BareEcho)->Arg(64)->Arg(1024)->UseRealTime()->Iterations(20000);
BENCHMARK(BM_ControlEcho)->Arg(64)->Arg(1024)->UseRealTime()->Iterations(20000);

}  // namespace
}  // namespace hoplite
