#include "hoplite/cli/bench.h"

#include <unistd.h>

#include <algorithm>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "hoplite/base/digest.h"
#include "hoplite/base/status_macros.h"
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
            {.hosts = options.nodes,
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
  const auto warm = [&](int member) {
    return Json{{"do", "warm"},
                {"nonce", absl::StrCat(nonce_, "-", row_number_)},
                {"member", member},
                {"members", options.nodes}};
  };
  HOPLITE_RETURN_IF_ERROR(
      cluster->AskAll(warm, absl::Now() + kWarmTimeout + kAnswerSlack)
          .status());
  RowContext context{.options = options, .cluster = *cluster};
  HOPLITE_ASSIGN_OR_RETURN(context.file_sha256, FileDigest(options.file));
  for (int run = 0; run < options.warm_ups + options.runs; ++run) {
    // Of warm-ups only the bytes count.
    BenchRow scratch = row;
    BenchRow& into = run < options.warm_ups ? scratch : row;
    HOPLITE_RETURN_IF_ERROR(
        RunOnce(context, static_cast<std::uint64_t>(run), into));
    if (run >= options.warm_ups) continue;
    row.wrong_bytes = scratch.wrong_bytes;
    context.times_ms.clear();
    context.seconds = context.idle_seconds = 0;
  }
  SetTimes(row, context.times_ms);
  row.idle = context.seconds > 0 ? context.idle_seconds / context.seconds : 1;
  if (hosts_ != nullptr && row.bytes < kBucketsInMessage * row.bucket_bytes) {
    row.marked = "bucket";
  } else if (row.idle < kIdleMin) {
    row.marked = "processor";
  }
  if (options.operation != Operation::kRoundtrip) return absl::OkStatus();
  return MeasureSmall(options, *cluster, row);
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

absl::Status Bench::Prepare(RowContext& context, std::uint64_t run,
                            BenchRow& row) {
  const BenchOptions& options = context.options;
  TaskPlan plan;
  plan.operation = options.operation;
  plan.schedule = options.schedule;
  plan.members = static_cast<std::uint32_t>(options.nodes);
  plan.bytes = row.bytes;
  plan.content = {.nonce = nonce_,
                  .seed = options.seed,
                  .row = row_number_,
                  .run = run,
                  .objects = plan.members};
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

absl::StatusOr<double> Bench::RunClock(RowContext& context, std::uint64_t run) {
  const std::vector<std::int64_t> arrivals = DrawArrivals(context.options, run);
  const std::int64_t start = SteadyNanos() + kStartDelayNanos;
  const std::int64_t from = start + *std::ranges::max_element(arrivals);
  const auto command = [&](int member) {
    return Json{
        {"do", "run"},
        {"start", start},
        {"arrival", start + arrivals[static_cast<std::size_t>(member)]}};
  };
  HOPLITE_RETURN_IF_ERROR(context.cluster.Tell(command));
  SleepUntilSteadyNanos(start - kSampleEarlyNanos);
  const std::int64_t sampled_from = SteadyNanos();
  HOPLITE_ASSIGN_OR_RETURN(auto idle, testbed::IdleShareSampler::Create());
  HOPLITE_ASSIGN_OR_RETURN(
      const std::vector<Json> ended,
      context.cluster.Hear(absl::Now() + context.options.timeout +
                           kAnswerSlack));
  HOPLITE_ASSIGN_OR_RETURN(const double idle_share, idle.Take());
  std::int64_t end = from;
  for (const Json& answer : ended) {
    end = std::max(end, answer.at("end").get<std::int64_t>());
  }
  const double seconds = static_cast<double>(end - start) / 1e9;
  context.seconds += seconds;
  // What was sampled beside the run was idle, but for others' work.
  const double sampled =
      static_cast<double>(SteadyNanos() - sampled_from) / 1e9;
  context.idle_seconds += std::max(0.0, seconds - (1 - idle_share) * sampled);
  return static_cast<double>(end - from) / 1e6;
}

absl::Status Bench::RunOnce(RowContext& context, std::uint64_t run,
                            BenchRow& row) {
  BenchCluster& cluster = context.cluster;
  const absl::Duration timeout = context.options.timeout + kAnswerSlack;
  const auto ask = [&](const char* what) {
    return cluster.AskAll(
        [what](int) {
          return Json{{"do", what}};
        },
        absl::Now() + timeout);
  };
  HOPLITE_RETURN_IF_ERROR(Prepare(context, run, row));
  HOPLITE_ASSIGN_OR_RETURN(const std::vector<Json> before, ask("counters"));
  HOPLITE_ASSIGN_OR_RETURN(const double time_ms, RunClock(context, run));
  context.times_ms.push_back(time_ms);
  HOPLITE_ASSIGN_OR_RETURN(const std::vector<Json> after, ask("counters"));
  const double bytes = std::max(1.0, static_cast<double>(row.bytes));
  for (std::size_t i = 0; i < after.size(); ++i) {
    const double sent =
        after[i].at("sent").get<double>() - before[i].at("sent").get<double>();
    row.max_sent = std::max(row.max_sent, sent / bytes);
    row.peak_rss_mib =
        std::max(row.peak_rss_mib, cluster.PrivateMib(static_cast<int>(i)));
  }
  HOPLITE_ASSIGN_OR_RETURN(const std::vector<Json> verified, ask("verify"));
  for (const Json& answer : verified) {
    row.wrong_bytes += answer.at("wrong").get<std::uint64_t>();
  }
  return ask("clean").status();
}

}  // namespace hoplite::cli
