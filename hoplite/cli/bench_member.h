// A process of a benchmark, on each host one, told what to do line by line.
//
// It reads commands, one JSON object on a line of standard input, and answers
// each with one on standard output: {"ok": true, …} or {"error": "…",
// "code": 4}. It ends with its input, and with the thread that started it.
// Commands and their arguments:
//
//   start      listen, join, store, schedule     a node of its own -> address
//   connect    socket                            a client of a hoplited
//   warm       nonce, member                     connections to all nodes
//   prepare    a task, see bench_task.h          -> put_nanos
//   run        start, arrival                    begins the timed part
//   status                                       -> report, ended (the run)
//   watch, miss                                  see bench_watch.h
//   await                                        -> end, code, error, sources
//   counters                                     -> sent
//   verify     sources (of a sum)                -> wrong
//   clean                                        deletes what it put
//   probe_put  nonce, bytes, count               objects for
//   probe_get  nonce, bytes, count               one Get each -> median_ms
//   rate_serve, rate (host, port), echo_serve (listen),
//   echo (address, bytes, warm_ups, runs)        the links, without Hoplite
//
// Thread safety: none; one thread at a time.

#ifndef HOPLITE_CLI_BENCH_MEMBER_H_
#define HOPLITE_CLI_BENCH_MEMBER_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <thread>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "hoplite/api/hoplite.h"
#include "hoplite/cli/bench_task.h"
#include "hoplite/net/grpc_echo.h"

namespace hoplite::cli {

// The hidden first argument that makes a program a member.
inline constexpr char kBenchMemberCommand[] = "bench-member";

class BenchMember {
 public:
  BenchMember() = default;
  ~BenchMember();

  // Until the end of standard input; the exit status.
  int Main();

 private:
  using Json = nlohmann::json;
  using Answer = absl::StatusOr<Json>;

  Answer Do(const Json& command);
  Answer DoWithNode(const Json& command);
  Answer Start(const Json& command);
  Answer Connect(const Json& command);
  Answer Warm(const Json& command);
  // A ring of transfers, from which each node learns its bandwidth.
  absl::Status MeasureLink(const Json& command);
  Answer Prepare(const Json& command);
  Answer DoInRun(const std::string& what, const Json& command);
  Answer Run(const Json& command);
  Answer ReportRun();
  Answer AwaitRun();
  Answer Counters();
  Answer ProbePut(const Json& command);
  Answer ProbeGet(const Json& command);
  Answer ServeRate();
  Answer MeasureRate(const Json& command);
  Answer ServeEcho(const Json& command);
  Answer MeasureEcho(const Json& command);

  std::unique_ptr<Client> client_;
  std::optional<BenchTask> task_;
  // The task's run, which has a thread of its own: the others are read
  // when that is joined, but for the flag.
  std::thread run_;
  std::atomic<bool> run_ended_ = false;
  absl::Status run_status_;
  std::int64_t run_end_ = 0;

  std::thread rate_server_;
  std::unique_ptr<EchoServer> echo_server_;
};

}  // namespace hoplite::cli

#endif  // HOPLITE_CLI_BENCH_MEMBER_H_
