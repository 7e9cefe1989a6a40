#include "hoplite/cli/bench_member.h"

#include <sys/prctl.h>

#include <algorithm>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "hoplite/base/digest.h"
#include "hoplite/base/status_macros.h"
#include "hoplite/cli/bench_watch.h"
#include "hoplite/cli/steady_clock.h"
#include "hoplite/testbed/payload_rate.h"

namespace hoplite::cli {
namespace {

using Json = nlohmann::json;

// So many small objects meet every shard's host, with all but certainty.
constexpr int kWarmObjects = 128;
constexpr int kQuietPuts = 16;
// Enough for a transfer to show what its link carries.
constexpr std::uint64_t kLinkBytes = 1 << 20;
// Longer than the members of a short run end apart.
constexpr std::int64_t kReportDelayNanos = 20'000'000;
constexpr CallOptions kSmallCall{.timeout = absl::Seconds(30)};

double Median(std::vector<double> values) {
  std::ranges::sort(values);
  return values.empty() ? 0 : values[values.size() / 2];
}

double MillisecondsSince(std::int64_t begin) {
  return static_cast<double>(SteadyNanos() - begin) / 1e6;
}

ObjectId ProbeId(const Json& command, int number) {
  return IdFromName(absl::StrCat(
      "bench/probe/", command.at("nonce").get<std::string>(), "/", number));
}

absl::Status AllDone(const std::vector<Future<void>>& futures) {
  absl::Status first_error;
  for (const Future<void>& future : futures) first_error.Update(future.Get());
  return first_error;
}

}  // namespace

BenchMember::~BenchMember() {
  if (run_.joinable()) {
    client_->Shutdown();  // which ends its calls
    run_.join();
  }
  if (rate_server_.joinable()) rate_server_.join();
}

int BenchMember::Main() {
  // Whatever it is doing. Where the benchmark has ended before, so does the
  // input.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  for (std::string line; std::getline(std::cin, line);) {
    Json reply;
    try {
      Answer answer = Do(Json::parse(line));
      if (answer.ok()) {
        reply = *std::move(answer);
        reply["ok"] = true;
      } else {
        reply["error"] = answer.status().ToString();
        reply["code"] = answer.status().raw_code();
      }
    } catch (const std::exception& error) {  // the JSON library throws
      reply["error"] = error.what();
    }
    std::cout << reply.dump() << std::endl;
  }
  return 0;
}

absl::StatusOr<Json> BenchMember::Do(const Json& command) {
  const std::string what = command.at("do");
  if (what == "start") return Start(command);
  if (what == "connect") return Connect(command);
  if (what == "rate_serve") return ServeRate();
  if (what == "rate") return MeasureRate(command);
  if (what == "echo_serve") return ServeEcho(command);
  if (what == "echo") return MeasureEcho(command);
  return DoWithNode(command);
}

absl::StatusOr<Json> BenchMember::DoWithNode(const Json& command) {
  if (client_ == nullptr) {
    return absl::FailedPreconditionError("this member has no node yet");
  }
  const std::string what = command.at("do");
  if (what == "warm") return Warm(command);
  if (what == "prepare") return Prepare(command);
  if (what == "counters") return Counters();
  if (what == "probe_put") return ProbePut(command);
  if (what == "probe_get") return ProbeGet(command);
  if (!task_.has_value()) {
    return absl::FailedPreconditionError("this member has no task yet");
  }
  return DoInRun(what, command);
}

absl::StatusOr<Json> BenchMember::DoInRun(const std::string& what,
                                          const Json& command) {
  if (what == "run") return Run(command);
  if (what == "status") return ReportRun();
  if (what == "watch") return WatchStream(*client_, command);
  if (what == "miss") return AwaitLoss(*client_, command);
  if (what == "await") return AwaitRun();
  if (what == "verify") {
    return Json{{"wrong",
                 task_->CountWrongBytes(
                     command.at("sources").get<std::vector<std::uint32_t>>())}};
  }
  if (what == "clean") {
    HOPLITE_RETURN_IF_ERROR(task_->CleanUp());
    return Json::object();
  }
  return absl::InvalidArgumentError(absl::StrCat("no command ", what));
}

// --- Its node. --------------------------------------------------------------

absl::StatusOr<Json> BenchMember::Start(const Json& command) {
  NodeOptions options;
  options.listen = command.at("listen");
  options.join = command.at("join");
  options.store_bytes = command.at("store");
  options.schedule = static_cast<Schedule>(command.at("schedule").get<int>());
  HOPLITE_ASSIGN_OR_RETURN(client_, Client::Embed(options));
  HOPLITE_ASSIGN_OR_RETURN(const NodeReport report, client_->Report());
  return Json{{"address", report.control_address}};
}

absl::StatusOr<Json> BenchMember::Connect(const Json& command) {
  HOPLITE_ASSIGN_OR_RETURN(
      client_, Client::Connect(command.at("socket").get<std::string>()));
  return Json::object();
}

absl::StatusOr<Json> BenchMember::Warm(const Json& command) {
  const std::byte bytes[4] = {};
  std::vector<ObjectId> ids;
  std::vector<Future<void>> futures;
  for (int i = 0; i < kWarmObjects; ++i) {
    ids.push_back(IdFromName(
        absl::StrCat("bench/warm/", command.at("nonce").get<std::string>(), "/",
                     command.at("member").get<int>(), "/", i)));
    futures.push_back(client_->PutAsync(ids.back(), bytes, kSmallCall));
  }
  HOPLITE_RETURN_IF_ERROR(AllDone(futures));
  futures.clear();
  for (const ObjectId& id : ids) {
    futures.push_back(client_->DeleteAsync(id, kSmallCall));
  }
  HOPLITE_RETURN_IF_ERROR(AllDone(futures));
  HOPLITE_RETURN_IF_ERROR(MeasureLink(command));
  // One after another, so that each node measures its latency undisturbed.
  for (int i = 0; i < kQuietPuts; ++i) {
    const ObjectId id = IdFromName(
        absl::StrCat("bench/quiet/", command.at("nonce").get<std::string>(),
                     "/", command.at("member").get<int>(), "/", i));
    HOPLITE_RETURN_IF_ERROR(client_->Put(id, bytes, kSmallCall));
    HOPLITE_RETURN_IF_ERROR(client_->Delete(id, kSmallCall));
  }
  return Json::object();
}

absl::Status BenchMember::MeasureLink(const Json& command) {
  const int members = command.at("members");
  const auto id = [&](int member) {
    return IdFromName(absl::StrCat("bench/link/",
                                   command.at("nonce").get<std::string>(), "/",
                                   member % members));
  };
  const std::vector<std::byte> bytes(kLinkBytes);
  const int member = command.at("member");
  HOPLITE_RETURN_IF_ERROR(client_->Put(id(member), bytes, kSmallCall));
  HOPLITE_RETURN_IF_ERROR(client_->Get(id(member + 1), kSmallCall).status());
  // Its only reader may still be reading, and would wait for ever: the reader
  // deletes it.
  return client_->Delete(id(member + 1), kSmallCall);
}

// --- Runs. ------------------------------------------------------------------

absl::StatusOr<Json> BenchMember::Prepare(const Json& command) {
  task_.emplace(*client_, TaskPlanFromJson(command));
  HOPLITE_ASSIGN_OR_RETURN(const std::int64_t put_nanos, task_->Prepare());
  return Json{{"put_nanos", put_nanos}};
}

absl::StatusOr<Json> BenchMember::Run(const Json& command) {
  if (run_.joinable()) {
    return absl::FailedPreconditionError("the run before is not awaited yet");
  }
  run_ended_ = false;
  run_ = std::thread([this, start = command.at("start").get<std::int64_t>(),
                      arrival = command.at("arrival").get<std::int64_t>()] {
    run_status_ = task_->Run(start, arrival);
    run_end_ = SteadyNanos();
    run_ended_ = true;
  });
  return Json::object();
}

absl::StatusOr<Json> BenchMember::ReportRun() {
  const bool ended = run_ended_;
  HOPLITE_ASSIGN_OR_RETURN(Json answer, ReportNode(*client_));
  answer["ended"] = ended;
  return answer;
}

absl::StatusOr<Json> BenchMember::AwaitRun() {
  if (!run_.joinable()) return absl::FailedPreconditionError("nothing runs");
  run_.join();
  // Others may still run, and reports cost them their processor.
  SleepUntilSteadyNanos(run_end_ + kReportDelayNanos);
  return Json{{"end", run_end_},
              {"code", run_status_.raw_code()},
              {"error", run_status_.ToString()},
              {"sources", task_->sources()}};
}

absl::StatusOr<Json> BenchMember::Counters() {
  HOPLITE_ASSIGN_OR_RETURN(const NodeReport report, client_->Report());
  return Json{{"sent", report.counters.payload_bytes_sent +
                           report.counters.inline_bytes_sent}};
}

absl::StatusOr<Json> BenchMember::ProbePut(const Json& command) {
  const std::vector<std::byte> bytes(command.at("bytes").get<std::size_t>());
  const int count = command.at("count");
  std::vector<Future<void>> futures;
  for (int i = 0; i < count; ++i) {
    futures.push_back(
        client_->PutAsync(ProbeId(command, i), bytes, kSmallCall));
  }
  HOPLITE_RETURN_IF_ERROR(AllDone(futures));
  return Json::object();
}

absl::StatusOr<Json> BenchMember::ProbeGet(const Json& command) {
  const int count = command.at("count");
  std::vector<double> times_ms;
  for (int i = 0; i < count; ++i) {
    const std::int64_t begin = SteadyNanos();
    HOPLITE_RETURN_IF_ERROR(
        client_->Get(ProbeId(command, i), kSmallCall).status());
    times_ms.push_back(MillisecondsSince(begin));
  }
  return Json{{"median_ms", Median(std::move(times_ms))}};
}

// --- The links. -------------------------------------------------------------

absl::StatusOr<Json> BenchMember::ServeRate() {
  HOPLITE_ASSIGN_OR_RETURN(testbed::PayloadRateServer server,
                           testbed::PayloadRateServer::Listen());
  const int port = server.port();
  if (rate_server_.joinable()) rate_server_.join();
  rate_server_ = std::thread([served = std::move(server)]() mutable {
    const absl::Status status =
        served.ServeOne(absl::Now() + absl::Seconds(30));
    if (!status.ok()) std::cerr << "payload rate: " << status << "\n";
  });
  return Json{{"port", port}};
}

absl::StatusOr<Json> BenchMember::MeasureRate(const Json& command) {
  HOPLITE_ASSIGN_OR_RETURN(
      const testbed::PayloadRate rate,
      testbed::MeasurePayloadRate(command.at("host").get<std::string>(),
                                  command.at("port"), {}));
  return Json{{"mbit", rate.bits_per_second / 1e6},
              {"congestion_control", rate.congestion_control}};
}

absl::StatusOr<Json> BenchMember::ServeEcho(const Json& command) {
  HOPLITE_ASSIGN_OR_RETURN(
      echo_server_,
      EchoServer::Listen(command.at("listen").get<std::string>()));
  return Json{{"address", echo_server_->address()}};
}

absl::StatusOr<Json> BenchMember::MeasureEcho(const Json& command) {
  HOPLITE_ASSIGN_OR_RETURN(
      const std::unique_ptr<EchoClient> client,
      EchoClient::Connect(command.at("address").get<std::string>()));
  const std::string bytes(command.at("bytes").get<std::size_t>(), 'e');
  const int warm_ups = command.at("warm_ups");
  const int runs = command.at("runs");
  std::vector<double> times_ms;
  for (int i = 0; i < warm_ups + runs; ++i) {
    const std::int64_t begin = SteadyNanos();
    HOPLITE_RETURN_IF_ERROR(client->Echo(bytes).status());
    if (i >= warm_ups) times_ms.push_back(MillisecondsSince(begin));
  }
  return Json{{"median_ms", Median(std::move(times_ms))}};
}

}  // namespace hoplite::cli
