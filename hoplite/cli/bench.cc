#include "hoplite/cli/bench.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "hoplite/base/digest.h"
#include "hoplite/base/status_macros.h"
#include "hoplite/cli/bench_fault.h"
#include "hoplite/cli/bench_plan.h"
#include "hoplite/cli/bench_task.h"
#include "hoplite/cli/files.h"
#include "hoplite/cli/mapped_memory.h"
#include "hoplite/cli/process_memory.h"
#include "hoplite/cli/steady_clock.h"
#include "hoplite/testbed/idle_share.h"

namespace hoplite::cli {
namespace {

using Json = nlohmann::json;

// A link is not the bottleneck where less of the processors was idle.
constexpr double kIdleMin = 0.1;
// From the commands to their common start.
constexpr std::int64_t kStartDelayNanos = 50'000'000;
// The best counts: what disturbs a probe makes the link look slower.
constexpr int kRateProbes = 2;
// The processor's idle share is sampled from so long before the start.
constexpr std::int64_t kSampleEarlyNanos = 1'000'000;
constexpr absl::Duration kWarmTimeout = absl::Seconds(60);
// A member answers soon after its last call has ended.
constexpr absl::Duration kAnswerSlack = absl::Seconds(30);
// Round trips of a bare stream and single Gets, beside a row of small ones.
constexpr int kProbeWarmUps = 20;
constexpr int kProbes = 50;
constexpr std::uint64_t kProbeBytesMax = 64 << 10;

// No two benchmarks on one cluster use the same ids.
std::string NewNonce() {
  return absl::StrCat(getpid(), "-", absl::ToUnixNanos(absl::Now()));
}

absl::Status CheckFits(const std::vector<std::uint64_t>& stores) {
  const std::uint64_t total =
      std::accumulate(stores.begin(), stores.end(), std::uint64_t{0});
  const std::uint64_t available = AvailableBytes();
  if (total <= available) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrFormat(
      "would not fit: the stores of %d nodes need %d MiB, and %d MiB of memory "
      "are free",
      stores.size(), total >> 20, available >> 20));
}

absl::StatusOr<std::string> FileDigest(const std::string& path) {
  if (path.empty()) return std::string();
  HOPLITE_ASSIGN_OR_RETURN(const Descriptor file, OpenForReading(path));
  HOPLITE_ASSIGN_OR_RETURN(const MappedMemory mapped,
                           MappedMemory::OfFile(file.number()));
  return Sha256Hex(mapped.bytes());
}

}  // namespace

Bench::Bench(const BenchOptions& options)
    : options_(options), nonce_(NewNonce()) {}

absl::StatusOr<std::unique_ptr<Bench>> Bench::Create(
    const BenchOptions& options) {
  // No make_unique: the constructor is private.
  std::unique_ptr<Bench> bench(new Bench(options));
  if (options.link_bits_per_second.has_value()) {
    HOPLITE_ASSIGN_OR_RETURN(
        bench->hosts_,
        testbed::Testbed::Create(
            {.hosts = options.nodes + (options.fault.has_value() ? 1 : 0),
             .link_bits_per_second = options.link_bits_per_second,
             .bucket_bytes = kBucketBytesMax,
             .congestion_control = options.congestion_control}));
  }
  return bench;
}

std::string Bench::congestion_control() const {
  return hosts_ == nullptr ? "" : hosts_->congestion_control();
}

void Bench::RunAll(const std::function<void(const BenchRow&)>& take) {
  std::uint64_t bytes = options_.begin_bytes;
  while (bytes <= options_.end_bytes) {
    take(RunRow(options_, bytes));
    const std::uint64_t next = bytes * options_.factor;
    if (next <= bytes) break;
    bytes = next;
  }
}

BenchRow Bench::RunRow(const BenchOptions& options, std::uint64_t bytes) {
  BenchRow row;
  row.operation = options.operation;
  row.schedule = options.schedule;
  row.nodes = options.nodes;
  row.bytes = bytes;
  if (options.fault.has_value()) row.fault = ToString(*options.fault);
  if (options.link_bits_per_second.has_value()) {
    row.link_mbit = static_cast<double>(*options.link_bits_per_second) / 1e6;
    row.bucket_bytes = BucketFor(bytes);
  }
  ++row_number_;
  const absl::Status status = Measure(options, row);
  row.code = status.code();
  if (!status.ok()) row.error = std::string(status.message());
  return row;
}

absl::StatusOr<double> Bench::PayloadMbit(std::uint64_t bucket_bytes) {
  const auto known = payload_mbit_.find(bucket_bytes);
  if (known != payload_mbit_.end()) return known->second;
  BenchOptions pair = options_;
  pair.nodes = 2;
  pair.fault.reset();
  HOPLITE_ASSIGN_OR_RETURN(const std::unique_ptr<BenchCluster> cluster,
                           BenchCluster::Start(pair, hosts_.get()));
  double best = 0;
  for (int probe = 0; probe < kRateProbes; ++probe) {
    HOPLITE_ASSIGN_OR_RETURN(const double mbit, cluster->MeasurePayloadRate());
    best = std::max(best, mbit);
  }
  payload_mbit_[bucket_bytes] = best;
  return best;
}

absl::Status Bench::Measure(const BenchOptions& options, BenchRow& row) {
  const std::vector<std::uint64_t> stores = StoreBytesFor(options, row.bytes);
  HOPLITE_RETURN_IF_ERROR(CheckFits(stores));
  if (hosts_ != nullptr && hosts_->bucket_bytes() != row.bucket_bytes) {
    HOPLITE_RETURN_IF_ERROR(hosts_->SetBucket(row.bucket_bytes));
  }
  HOPLITE_ASSIGN_OR_RETURN(row.payload_mbit, PayloadMbit(row.bucket_bytes));
  row.bound_ms =
      BoundMs(options.operation, options.nodes, row.bytes, row.payload_mbit);
  HOPLITE_ASSIGN_OR_RETURN(const std::unique_ptr<BenchCluster> cluster,
                           BenchCluster::Start(options, hosts_.get()));
  HOPLITE_RETURN_IF_ERROR(cluster->StartNodes(stores));
  HOPLITE_RETURN_IF_ERROR(Warm(*cluster, "start"));
  RowContext context{.options = options, .cluster = *cluster};
  HOPLITE_ASSIGN_OR_RETURN(context.file_sha256, FileDigest(options.file));
  HOPLITE_RETURN_IF_ERROR(RunAll(context, row));
  SetTimes(row, context.times_ms);
  if (!context.detections_ms.empty()) {
    row.detect_ms = Median(context.detections_ms);
    row.detect_max_ms = *std::ranges::max_element(context.detections_ms);
  }
  row.idle = context.seconds > 0 ? context.idle_seconds / context.seconds : 1;
  if (hosts_ != nullptr && row.bytes < kBucketsInMessage * row.bucket_bytes) {
    row.marked = "bucket";
  } else if (row.idle < kIdleMin) {
    row.marked = "processor";
  }
  if (options.operation != Operation::kRoundtrip) return absl::OkStatus();
  return MeasureSmall(options, *cluster, row);
}

absl::Status Bench::Warm(BenchCluster& cluster, absl::string_view occasion) {
  const auto warm = [&](int member) {
    return Json{
        {"do", "warm"},
        {"nonce", absl::StrCat(nonce_, "-", row_number_, "-", occasion)},
        {"member", member},
        {"members", cluster.size()}};
  };
  return cluster.AskAll(warm, absl::Now() + kWarmTimeout + kAnswerSlack)
      .status();
}

absl::Status Bench::RunAll(RowContext& context, BenchRow& row) {
  const BenchOptions& options = context.options;
  for (int run = 0; run < options.warm_ups + options.runs; ++run) {
    // Of warm-ups only the bytes count.
    BenchRow scratch = row;
    context.timed = run >= options.warm_ups;
    BenchRow& into = context.timed ? row : scratch;
    HOPLITE_RETURN_IF_ERROR(
        RunOnce(context, static_cast<std::uint64_t>(run), into));
    if (context.timed) continue;
    row.wrong_bytes = scratch.wrong_bytes;
    context.times_ms.clear();
    context.seconds = context.idle_seconds = 0;
  }
  return absl::OkStatus();
}

absl::Status Bench::MeasureSmall(const BenchOptions& options,
                                 BenchCluster& cluster, BenchRow& row) {
  const int runs = row.bytes <= kProbeBytesMax ? kProbes : options.runs;
  HOPLITE_ASSIGN_OR_RETURN(
      row.echo_ms,
      cluster.MeasureEcho(row.bytes, std::min(runs, kProbeWarmUps), runs));
  if (row.bytes > kProbeBytesMax) return absl::OkStatus();
  Json probe{{"do", "probe_put"},
             {"nonce", absl::StrCat(nonce_, "-", row_number_)},
             {"bytes", row.bytes},
             {"count", kProbes}};
  const absl::Time deadline = absl::Now() + options.timeout + kAnswerSlack;
  HOPLITE_RETURN_IF_ERROR(cluster.Ask(1, probe, deadline).status());
  probe["do"] = "probe_get";
  HOPLITE_ASSIGN_OR_RETURN(const Json got, cluster.Ask(0, probe, deadline));
  row.get_ms = got.at("median_ms");
  return absl::OkStatus();
}

// --- One run. ---------------------------------------------------------------

RunContent Bench::ContentOf(const BenchOptions& options,
                            std::uint64_t run) const {
  return {.nonce = nonce_,
          .seed = options.seed,
          .row = row_number_,
          .run = run,
          .objects = static_cast<std::uint32_t>(options.nodes)};
}

absl::Status Bench::Prepare(RowContext& context, std::uint64_t run,
                            BenchRow& row) {
  const BenchOptions& options = context.options;
  TaskPlan plan;
  plan.operation = options.operation;
  plan.schedule = options.schedule;
  plan.members = static_cast<std::uint32_t>(options.nodes);
  plan.bytes = row.bytes;
  plan.content = ContentOf(options, run);
  // With a fault the last member calls, which is never lost, and a source is
  // left over.
  plan.caller = options.fault.has_value() ? plan.members : 0;
  plan.count = plan.members - (options.fault.has_value() ? 1 : 0);
  plan.arrives = options.arrive.has_value();
  plan.timeout = options.timeout;
  plan.file = options.file;
  plan.file_sha256 = context.file_sha256;
  const auto prepare = [&](int member) {
    plan.member = static_cast<std::uint32_t>(member);
    Json command = ToJson(plan);
    command["do"] = "prepare";
    return command;
  };
  HOPLITE_ASSIGN_OR_RETURN(
      const std::vector<Json> prepared,
      context.cluster.AskAll(prepare,
                             absl::Now() + options.timeout + kAnswerSlack));
  for (const Json& answer : prepared) {
    row.put_ms =
        std::max(row.put_ms, answer.at("put_nanos").get<double>() / 1e6);
  }
  return absl::OkStatus();
}

absl::StatusOr<Bench::RunResult> Bench::RunClock(RowContext& context,
                                                 std::uint64_t run) {
  std::vector<std::int64_t> arrivals = DrawArrivals(context.options, run);
  arrivals.resize(static_cast<std::size_t>(context.cluster.size()));
  const std::int64_t start = SteadyNanos() + kStartDelayNanos;
  const std::int64_t from = start + *std::ranges::max_element(arrivals);
  const auto command = [&](int member) {
    return Json{
        {"do", "run"},
        {"start", start},
        {"arrival", start + arrivals[static_cast<std::size_t>(member)]}};
  };
  HOPLITE_RETURN_IF_ERROR(
      context.cluster.AskAll(command, absl::Now() + kAnswerSlack).status());
  SleepUntilSteadyNanos(start - kSampleEarlyNanos);
  const std::int64_t sampled_from = SteadyNanos();
  HOPLITE_ASSIGN_OR_RETURN(auto idle, testbed::IdleShareSampler::Create());
  RunResult result;
  if (context.faulty()) {
    HOPLITE_ASSIGN_OR_RETURN(result.strike, StrikeIn(context, run));
  }
  HOPLITE_RETURN_IF_ERROR(Await(context, from, result));
  HOPLITE_ASSIGN_OR_RETURN(const double idle_share, idle.Take());
  const double seconds =
      result.time_ms / 1e3 + static_cast<double>(from - start) / 1e9;
  context.seconds += seconds;
  // What was sampled beside the run was idle, but for others' work.
  const double sampled =
      static_cast<double>(SteadyNanos() - sampled_from) / 1e9;
  context.idle_seconds += std::max(0.0, seconds - (1 - idle_share) * sampled);
  return result;
}

absl::StatusOr<Strike> Bench::StrikeIn(RowContext& context, std::uint64_t run) {
  const BenchOptions& options = context.options;
  const RunContent content = ContentOf(options, run);
  return StrikeInRun(
      context.cluster,
      {.fault = *options.fault,
       .object = Reduces(options.operation) ? content.Target() : content.Id(0),
       .victims = options.nodes,
       .seed = options.seed + run,
       .deadline = absl::Now() + options.timeout + kAnswerSlack});
}

absl::Status Bench::Await(RowContext& context, std::int64_t from,
                          RunResult& result) {
  const auto command = [&](int member) {
    return result.lost(static_cast<std::size_t>(member))
               ? Json()
               : Json{{"do", "await"}};
  };
  HOPLITE_ASSIGN_OR_RETURN(
      const std::vector<Json> ended,
      context.cluster.AskAll(
          command, absl::Now() + context.options.timeout + kAnswerSlack));
  std::int64_t end = from;
  for (std::size_t i = 0; i < ended.size(); ++i) {
    if (ended[i].is_null()) continue;
    end = std::max(end, ended[i].at("end").get<std::int64_t>());
    const auto code = static_cast<absl::StatusCode>(ended[i].at("code"));
    // Where nobody has all of it any more, that is the right end.
    const bool right =
        code == absl::StatusCode::kOk ||
        (code == absl::StatusCode::kDataLoss && result.strike.has_value() &&
         context.options.fault->place == FaultPlace::kHolder);
    if (!right) {
      return absl::Status(
          code, absl::StrCat("node ", i, " of the benchmark: ",
                             ended[i].at("error").get<std::string>()));
    }
    if (code != absl::StatusCode::kOk) result.ended = code;
    if (!ended[i].at("sources").empty()) {
      result.sources = ended[i].at("sources").get<std::vector<std::uint32_t>>();
    }
  }
  result.time_ms = static_cast<double>(end - from) / 1e6;
  return absl::OkStatus();
}

absl::Status Bench::RunOnce(RowContext& context, std::uint64_t run,
                            BenchRow& row) {
  BenchCluster& cluster = context.cluster;
  RunResult result;
  const auto ask = [&](Json command) {
    return cluster.AskAll(
        [&](int member) {
          return result.lost(static_cast<std::size_t>(member)) ? Json()
                                                               : command;
        },
        absl::Now() + context.options.timeout + kAnswerSlack);
  };
  const Json counters{{"do", "counters"}};
  HOPLITE_RETURN_IF_ERROR(Prepare(context, run, row));
  HOPLITE_ASSIGN_OR_RETURN(const std::vector<Json> before, ask(counters));
  HOPLITE_ASSIGN_OR_RETURN(result, RunClock(context, run));
  context.times_ms.push_back(result.time_ms);
  HOPLITE_ASSIGN_OR_RETURN(const std::vector<Json> after, ask(counters));
  const double bytes = std::max(1.0, static_cast<double>(row.bytes));
  for (std::size_t i = 0; i < after.size(); ++i) {
    if (after[i].is_null()) continue;
    const double sent =
        after[i].at("sent").get<double>() - before[i].at("sent").get<double>();
    row.max_sent = std::max(row.max_sent, sent / bytes);
    row.peak_rss_mib =
        std::max(row.peak_rss_mib, cluster.PrivateMib(static_cast<int>(i)));
  }
  HOPLITE_ASSIGN_OR_RETURN(
      const std::vector<Json> verified,
      ask({{"do", "verify"}, {"sources", result.sources}}));
  for (const Json& answer : verified) {
    if (answer.is_null()) continue;
    row.wrong_bytes += answer.at("wrong").get<std::uint64_t>();
  }
  HOPLITE_RETURN_IF_ERROR(ask({{"do", "clean"}}).status());
  if (!context.options.fault.has_value()) return absl::OkStatus();
  return Recover(context, run, result, row);
}

absl::Status Bench::Recover(RowContext& context, std::uint64_t run,
                            const RunResult& result, BenchRow& row) {
  if (result.ended != absl::StatusCode::kOk) row.ended = result.ended;
  if (result.strike.has_value()) {
    context.detections_ms.push_back(result.strike->detect_ms);
    const int asked = context.options.fault->percent;
    if (context.detections_ms.size() == 1 ||
        std::abs(result.strike->percent - asked) >
            std::abs(row.fault_percent - asked)) {
      row.fault_percent = result.strike->percent;
    }
    HOPLITE_RETURN_IF_ERROR(context.cluster.Revive(result.strike->victim));
  }
  // Without a fault, too: what is compared has run in the same conditions.
  return Warm(context.cluster, absl::StrCat("run-", run));
}

}  // namespace hoplite::cli
