#include "experiments/figure9/measure.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "experiments/cluster.h"
#include "experiments/figure9/plan.h"
#include "hoplite/base/status_macros.h"
#include "hoplite/cli/bench_row.h"
#include "hoplite/testbed/idle_share.h"

namespace hoplite::experiments {
namespace {

using Json = nlohmann::json;

constexpr absl::Duration kTick = absl::Seconds(1);
// However slow the machine is: a cell that takes longer hangs.
constexpr int kPatience = 10;

struct Heard {
  std::string line;
  double idle = 0;  // median over seconds: starting counts for little
};

absl::StatusOr<Heard> Hear(testbed::HostProcess& application,
                           absl::Duration patience,
                           const std::function<void()>& tick) {
  HOPLITE_ASSIGN_OR_RETURN(testbed::IdleShareSampler sampler,
                           testbed::IdleShareSampler::Create());
  std::vector<double> idle;
  const absl::Time end = absl::Now() + patience;
  for (;;) {
    auto line = application.ReadLine(absl::Now() + kTick);
    HOPLITE_ASSIGN_OR_RETURN(const double share, sampler.Take());
    if (line.ok() && idle.empty()) idle.push_back(share);
    if (line.ok()) return Heard{*std::move(line), cli::Median(idle)};
    if (!absl::IsDeadlineExceeded(line.status()) || absl::Now() > end) {
      return absl::Status(line.status().code(),
                          absl::StrCat("the parameter server gave no result: ",
                                       line.status().message()));
    }
    idle.push_back(share);
    tick();
  }
}

absl::Status FillIn(const Heard& heard, Row& row) {
  const Json json = Json::parse(heard.line, nullptr, false);
  if (!json.is_object() || !json.contains("parts_samples_per_s")) {
    return absl::InternalError(
        absl::StrCat("the parameter server said: ", heard.line));
  }
  const auto parts = json.at("parts_samples_per_s").get<std::vector<double>>();
  if (parts.empty()) {
    return absl::InternalError("the parameter server timed nothing");
  }
  const auto [least, most] = std::ranges::minmax(parts);
  row.median_samples_per_s = cli::Median(parts);
  row.min_samples_per_s = least;
  row.max_samples_per_s = most;
  row.updates = json.at("timed_updates").get<int>();
  row.seconds = json.at("seconds").get<double>();
  row.idle = heard.idle;
  row.limit = LimitOf(SizesOf(row), row.idle);
  return absl::OkStatus();
}

}  // namespace

std::string Figure9::congestion_control() const {
  return hosts_ == nullptr ? "" : hosts_->congestion_control();
}

absl::Status Figure9::MakeHosts(int count) {
  if (hosts_ != nullptr && hosts_->host_count() == count) {
    return absl::OkStatus();
  }
  hosts_.reset();
  HOPLITE_ASSIGN_OR_RETURN(
      hosts_,
      testbed::Testbed::Create(
          {.hosts = count, .link_bits_per_second = kFigure9LinkBitsPerSecond}));
  return absl::OkStatus();
}

absl::StatusOr<Row> Figure9::Measure(const Row& planned,
                                     const std::function<void()>& tick) {
  HOPLITE_RETURN_IF_ERROR(MakeHosts(planned.cell.hosts));
  HOPLITE_ASSIGN_OR_RETURN(
      const std::unique_ptr<Cluster> cluster,
      Cluster::Start(*hosts_, {.program = programs_.node,
                               .schedule = planned.cell.transport,
                               .store_bytes = StoreBytes(planned)}));
  std::vector<std::string> arguments = Figure9Arguments(planned);
  arguments.insert(arguments.begin(), programs_.parameter_server);
  HOPLITE_ASSIGN_OR_RETURN(
      const std::unique_ptr<testbed::HostProcess> application,
      cluster->Run(0, std::move(arguments)));
  HOPLITE_ASSIGN_OR_RETURN(
      const Heard heard,
      Hear(*application, kPatience * ExpectedTime(planned), tick));
  Row row = planned;
  HOPLITE_RETURN_IF_ERROR(FillIn(heard, row));
  return row;
}

}  // namespace hoplite::experiments
