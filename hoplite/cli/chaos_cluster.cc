#include "hoplite/cli/chaos_cluster.h"

#include <algorithm>
#include <csignal>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "hoplite/base/status_macros.h"
#include "hoplite/cli/steady_clock.h"

namespace hoplite::cli {
namespace {

using Json = nlohmann::json;

constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();
constexpr int kHead = 0;
// A host that was silent for nearly as long as a dead one may be heard of
// only a moment after it is back.
constexpr std::int64_t kSettleNanos = 300'000'000;
constexpr std::int64_t kAskNanos = 200'000'000;
// A node whose port is taken, or whose head is away for long, tries again.
constexpr int kStartFailuresMax = 5;
constexpr absl::Duration kStartTimeout = absl::Seconds(120);
constexpr absl::Duration kTick = absl::Milliseconds(20);

bool IsMember(const std::vector<Member>& members, const NodeRef& node) {
  return std::ranges::any_of(
      members, [&](const Member& member) { return member.ref == node; });
}

}  // namespace

absl::StatusOr<std::unique_ptr<ChaosCluster>> ChaosCluster::Start(
    const ChaosOptions& options) {
  // No make_unique: the constructor is private.
  std::unique_ptr<ChaosCluster> cluster(new ChaosCluster(options));
  HOPLITE_ASSIGN_OR_RETURN(
      cluster->testbed_,
      testbed::Testbed::Create(
          {.hosts = options.nodes,
           .link_bits_per_second = options.link_bits_per_second}));
  for (int i = 0; i < options.nodes; ++i) {
    cluster->hosts_.push_back(std::make_unique<ChaosHost>(
        ChaosHost::Setting{.testbed = cluster->testbed_.get(),
                           .inbox = &cluster->inbox_,
                           .host = i,
                           .daemon = options.daemon,
                           .verbose = options.verbose}));
    cluster->states_.emplace_back();
  }
  const absl::Time deadline = absl::Now() + kStartTimeout;
  cluster->calm_since_ = kNever;
  while (cluster->calm_since_ == kNever) {
    HOPLITE_RETURN_IF_ERROR(cluster->Step());
    cluster->Next(absl::Now() + kTick);
    if (absl::Now() > deadline) {
      return absl::UnavailableError("the nodes did not become a cluster");
    }
  }
  return cluster;
}

std::vector<int> ChaosCluster::Up() const {
  std::vector<int> up;
  for (int i = 0; i < size(); ++i) {
    if (IsUp(i)) up.push_back(i);
  }
  return up;
}

// --- Faults. ----------------------------------------------------------------

absl::Status ChaosCluster::Hit(int host, ChaosFault fault,
                               absl::Duration length) {
  HostState& state = states_[Index(host)];
  state.phase = Phase::kHit;
  state.fault = fault;
  state.killed = Kills(fault);
  calm_since_ = kNever;
  absl::Status status;
  if (fault == ChaosFault::kStop) {
    status = hosts_[Index(host)]->Signal(SIGSTOP);
  } else if (fault == ChaosFault::kCut) {
    status = testbed_->CutLink(host);
  } else {
    hosts_[Index(host)]->Kill();
  }
  state.until = SteadyNanos() + absl::ToInt64Nanoseconds(length);
  return status;
}

void ChaosCluster::Doubt(int host) {
  HostState& state = states_[Index(host)];
  if (state.phase != Phase::kUp) return;
  state.phase = Phase::kSettling;
  state.healed = SteadyNanos();
  calm_since_ = kNever;
}

void ChaosCluster::EndFaults() {
  for (HostState& state : states_) state.until = 0;
}

absl::Status ChaosCluster::EndFault(int host) {
  HostState& state = states_[Index(host)];
  state.phase = Phase::kSettling;
  if (state.fault == ChaosFault::kStop) {
    HOPLITE_RETURN_IF_ERROR(hosts_[Index(host)]->Signal(SIGCONT));
  } else if (state.fault == ChaosFault::kCut) {
    HOPLITE_RETURN_IF_ERROR(testbed_->RestoreLink(host));
  }
  state.healed = SteadyNanos();
  if (state.fault == ChaosFault::kStop && !options_.daemon) {
    state.woken = state.healed;
  }
  return absl::OkStatus();
}

bool ChaosCluster::IsStopped(int host) const {
  const HostState& state = states_[Index(host)];
  return state.phase == Phase::kHit && state.fault == ChaosFault::kStop &&
         !options_.daemon;
}

absl::Status ChaosCluster::StartAgain(int host) {
  HostState& state = states_[Index(host)];
  ChaosHost& node = *hosts_[Index(host)];
  if (host != kHead && hosts_[kHead]->address().empty()) {
    return absl::OkStatus();  // the first head has yet to start
  }
  const bool same = state.fault != ChaosFault::kKill;
  state.killed = false;
  state.healed = SteadyNanos();
  return node.Start(host == kHead ? "" : hosts_[kHead]->address(), same);
}

absl::Status ChaosCluster::Step() {
  const std::int64_t now = SteadyNanos();
  bool calm = true;
  for (int host = 0; host < size(); ++host) {
    HostState& state = states_[Index(host)];
    const bool failed = hosts_[Index(host)]->node() == ChaosHost::Node::kFailed;
    if (failed && state.phase != Phase::kSettling) {
      return absl::InternalError(hosts_[Index(host)]->failure());
    }
    if (state.phase == Phase::kHit && now >= state.until) {
      HOPLITE_RETURN_IF_ERROR(EndFault(host));
    }
    if (state.phase == Phase::kSettling) {
      HOPLITE_RETURN_IF_ERROR(StepSettling(host));
    }
    calm = calm && state.phase == Phase::kUp;
  }
  if (!calm) {
    calm_since_ = kNever;
  } else if (calm_since_ == kNever) {
    calm_since_ = now;
  }
  return absl::OkStatus();
}

absl::Status ChaosCluster::StepSettling(int host) {
  HostState& state = states_[Index(host)];
  ChaosHost& node = *hosts_[Index(host)];
  if (node.node() == ChaosHost::Node::kFailed) {
    if (++state.failures > kStartFailuresMax) {
      return absl::InternalError(node.failure());
    }
    state.killed = true;
  }
  if (state.killed) return StartAgain(host);
  const std::int64_t now = SteadyNanos();
  if (node.node() != ChaosHost::Node::kUp ||
      now < state.healed + kSettleNanos) {
    return absl::OkStatus();
  }
  if (HasSettled(host)) {
    state.phase = Phase::kUp;
    state.failures = 0;
    return absl::OkStatus();
  }
  if (now < state.asked + kAskNanos) return absl::OkStatus();
  state.asked = now;
  if (host != kHead) node.AskReport();
  if (now >= head_asked_ + kAskNanos &&
      hosts_[kHead]->node() == ChaosHost::Node::kUp) {
    head_asked_ = now;
    hosts_[kHead]->AskReport();
  }
  return absl::OkStatus();
}

// Both reports are of after the fault: the host's was asked for then, and the
// head names a life that the host's own report names.
bool ChaosCluster::HasSettled(int host) const {
  const auto& own = hosts_[Index(host)]->report();
  const auto& head = hosts_[kHead]->report();
  const HostState& state = states_[Index(host)];
  if (std::min(state.asked, head_asked_) < state.healed) return false;
  if (!own.has_value() || !head.has_value()) return false;
  if (!own->status.self || !IsMember(head->status.members, own->status.self)) {
    return false;
  }
  // A head that has returned has heard from all others again.
  const auto others = static_cast<std::size_t>(std::ranges::count_if(
      states_,
      [](const HostState& state) { return state.phase == Phase::kUp; }));
  return head->status.members.size() >= others;
}

// --- Calls. -----------------------------------------------------------------

std::uint64_t ChaosCluster::Call(int host, const ChaosCall& call) {
  Json command = ToJson(call);
  command["do"] = "call";
  command["call"] = ++last_call_;
  // A process that has ended is noticed by its last line.
  hosts_[Index(host)]->Send(command).IgnoreError();
  return last_call_;
}

void ChaosCluster::TakeLine(const ChaosLine& line) {
  std::optional<Json> answer;
  for (const std::unique_ptr<ChaosHost>& host : hosts_) {
    if (host->Take(line, answer)) break;
  }
  if (!answer.has_value()) return;
  ChaosEnd end;
  if (answer->contains("code")) {
    end = ChaosEndFromJson(*answer);
  } else {
    end.code = absl::StatusCode::kInternal;
    end.message = answer->value("error", "?");
    end.ended = SteadyNanos();
  }
  answer_ = Answer{.call = answer->at("call"), .end = std::move(end)};
}

std::optional<ChaosCluster::Answer> ChaosCluster::Next(absl::Time deadline) {
  answer_.reset();
  while (!answer_.has_value()) {
    const std::optional<ChaosLine> line = inbox_.Next(deadline);
    if (!line.has_value()) return std::nullopt;
    TakeLine(*line);
  }
  return std::exchange(answer_, std::nullopt);
}

// --- At the end. ------------------------------------------------------------

std::vector<NodeReport> ChaosCluster::Reports(absl::Time deadline) {
  for (const auto& host : hosts_) host->AskReport();
  const auto all_answered = [&] {
    return std::ranges::all_of(
        hosts_, [](const auto& host) { return host->report().has_value(); });
  };
  while (!all_answered() && absl::Now() < deadline) {
    Next(std::min(deadline, absl::Now() + kTick));
  }
  std::vector<NodeReport> reports;
  for (const auto& host : hosts_) {
    if (host->report().has_value()) reports.push_back(*host->report());
  }
  return reports;
}

absl::StatusOr<std::vector<std::string>> ChaosCluster::Files(
    const std::string& folder, absl::Time deadline) {
  ChaosHost& host = *hosts_[kHead];
  host.AskFiles(folder);
  while (!host.files().has_value()) {
    if (absl::Now() >= deadline) {
      return absl::DeadlineExceededError(
          absl::StrCat("no list of the files in ", folder));
    }
    Next(std::min(deadline, absl::Now() + kTick));
  }
  return *host.files();
}

}  // namespace hoplite::cli
