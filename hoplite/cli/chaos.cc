#include "hoplite/cli/chaos.h"

#include <algorithm>
#include <bit>
#include <iostream>
#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "hoplite/base/status_macros.h"
#include "hoplite/cli/chaos_leaks.h"
#include "hoplite/cli/steady_clock.h"

namespace hoplite::cli {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr absl::Duration kTick = absl::Milliseconds(10);

// Several faults one after another, each noticed after a second, and a
// transfer: an operation that takes longer hangs.
constexpr std::int64_t kDeadlineNanos = 30 * kSecond;
// A call returns at its deadline, and this late on a busy machine.
constexpr std::int64_t kMarginNanos = kSecond;
// Then its answer has yet to come here.
constexpr std::int64_t kAnswerNanos = 2 * kSecond;
constexpr std::int64_t kDeleteAgainNanos = kSecond / 5;

constexpr std::uint64_t kBytesMin = 64 << 10;
constexpr std::uint64_t kBytesMax = 8 << 20;

// The first calm, of which the idle cluster is what leaks are compared with.
constexpr absl::Duration kWarmUpMax = absl::Seconds(15);
constexpr std::int64_t kStormNanos = 45 * kSecond;
constexpr std::int64_t kCalmNanos = 5 * kSecond;
// What a fault has begun may go on for so long after the cluster is whole.
constexpr std::int64_t kAfterNanos = kSecond;
constexpr std::int64_t kWholeNanos = 120 * kSecond;
// Connections rest for half a minute before they are closed.
constexpr absl::Duration kLeakPatience = absl::Seconds(45);

constexpr std::size_t kComplaintsMax = 20;

// Of [kBytesMin, kBytesMax], each power of two as often; whole f32.
std::uint64_t DrawBytes(Random& random) {
  const auto powers =
      static_cast<std::uint64_t>(std::countr_zero(kBytesMax / kBytesMin));
  const std::uint64_t floor = kBytesMin << random.Below(powers);
  return random.Between(floor, 2 * floor) / 4 * 4;
}

}  // namespace

Chaos::Chaos(const ChaosOptions& options, std::unique_ptr<ChaosCluster> cluster)
    : options_(options),
      cluster_(std::move(cluster)),
      random_(options.seed),
      faults_(random_.Next(), options.faults) {
  result_.options = options;
  for (const ChaosFault fault : options.faults) result_.faults[fault] = {};
}

absl::StatusOr<std::unique_ptr<Chaos>> Chaos::Create(
    const ChaosOptions& options) {
  HOPLITE_ASSIGN_OR_RETURN(std::unique_ptr<ChaosCluster> cluster,
                           ChaosCluster::Start(options));
  // No make_unique: the constructor is private.
  return std::unique_ptr<Chaos>(new Chaos(options, std::move(cluster)));
}

// --- The course. ------------------------------------------------------------

absl::StatusOr<ChaosResult> Chaos::Run() {
  const auto never = [] { return false; };
  const auto all_gone = [this] { return works_.empty(); };
  const std::int64_t begin = SteadyNanos();
  const std::int64_t end = begin + absl::ToInt64Nanoseconds(options_.length);
  const absl::Duration warm_up = std::min(kWarmUpMax, options_.length / 5);
  HOPLITE_RETURN_IF_ERROR(WorkUntil(begin + absl::ToInt64Nanoseconds(warm_up),
                                    /*faults=*/false, never));
  accepts_ = false;
  HOPLITE_RETURN_IF_ERROR(WorkUntil(SteadyNanos() + kWholeNanos,
                                    /*faults=*/false, all_gone));
  const ChaosUsage idle = UsageOf(*cluster_);
  accepts_ = true;
  while (SteadyNanos() < end) {
    HOPLITE_RETURN_IF_ERROR(WorkUntil(
        std::min(SteadyNanos() + kStormNanos, end), /*faults=*/true, never));
    HOPLITE_RETURN_IF_ERROR(WorkUntil(end, /*faults=*/false,
                                      [this] { return IsCalm(kCalmNanos); }));
  }
  cluster_->EndFaults();
  HOPLITE_RETURN_IF_ERROR(WorkUntil(SteadyNanos() + kWholeNanos,
                                    /*faults=*/false,
                                    [this] { return IsCalm(kAfterNanos); }));
  accepts_ = false;
  HOPLITE_RETURN_IF_ERROR(WorkUntil(SteadyNanos() + kWholeNanos,
                                    /*faults=*/false, all_gone));
  if (!IsCalm(0) || !works_.empty()) {
    return absl::InternalError(absl::StrFormat(
        "at the end %d of %d nodes are up, %d operations are not cleaned up",
        cluster_->Up().size(), options_.nodes, works_.size()));
  }
  result_.leaks = FindLeaks(*cluster_, idle, kLeakPatience);
  result_.at_first = idle;
  result_.at_last = UsageOf(*cluster_);
  return result_;
}

bool Chaos::IsCalm(std::int64_t for_nanos) const {
  const std::int64_t since = cluster_->calm_since();
  return since != std::numeric_limits<std::int64_t>::max() &&
         SteadyNanos() - since >= for_nanos;
}

absl::Status Chaos::WorkUntil(std::int64_t until, bool faults,
                              const std::function<bool()>& over) {
  while (SteadyNanos() < until && !over()) {
    HOPLITE_RETURN_IF_ERROR(Tick(faults));
  }
  return absl::OkStatus();
}

absl::Status Chaos::Tick(bool faults) {
  HOPLITE_RETURN_IF_ERROR(cluster_->Step());
  const std::int64_t now = SteadyNanos();
  if (faults) HOPLITE_RETURN_IF_ERROR(MaybeHit(now));
  if (in_hand_ == 0 && accepts_) BeginOperation(now);
  if (in_hand_ != 0) {
    Work& work = works_.at(in_hand_);
    for (const ChaosOperation::Order& order : work.operation.Next(now)) {
      MakeCall(in_hand_, order.member, order.call);
    }
    if (work.operation.done()) OnDone(work, now);
  }
  CleanUp(now);
  TakeAnswers();
  FindOverdue(SteadyNanos());
  return absl::OkStatus();
}

// --- Faults. ----------------------------------------------------------------

absl::Status Chaos::MaybeHit(std::int64_t now) {
  if (!next_fault_.has_value()) next_fault_ = faults_.Draw();
  const DrawnFault& drawn = *next_fault_;
  if (now < last_fault_ + absl::ToInt64Nanoseconds(drawn.gap)) {
    return absl::OkStatus();
  }
  // At least half of the hosts are up, so that there is work.
  std::vector<int> up = cluster_->Up();
  if (static_cast<int>(up.size()) <= options_.nodes - options_.nodes / 2) {
    return absl::OkStatus();
  }
  if (drawn.fault == ChaosFault::kHead) {
    std::erase_if(up, [](int host) { return host != 0; });
  } else {
    std::erase(up, 0);
  }
  if (up.empty()) return absl::OkStatus();
  const int host = up[drawn.victim % up.size()];
  HOPLITE_RETURN_IF_ERROR(cluster_->Hit(host, drawn.fault, drawn.length));
  if (options_.verbose) {
    std::cerr << absl::StrFormat("chaos: %s of host %d for %s\n",
                                 ToString(drawn.fault), host,
                                 absl::FormatDuration(drawn.length));
  }
  ++result_.faults[drawn.fault].count;
  if (in_hand_ != 0) works_.at(in_hand_).faults.emplace_back(drawn.fault, now);
  OnHit(host, Kills(drawn.fault) && !options_.daemon);
  last_fault_ = now;
  next_fault_.reset();
  return absl::OkStatus();
}

void Chaos::OnHit(int host, bool killed) {
  for (auto& [number, work] : works_) {
    work.operation.OnDisturbed();
    work.operation.OnHit(host);
  }
  for (auto open = open_.begin(); open != open_.end();) {
    if (open->second.host != host) {
      ++open;
      continue;
    }
    open->second.hit = true;
    if (!killed) {
      ++open;
      continue;
    }
    // Its calls went with it.
    Work& work = works_.at(open->second.work);
    --work.open_calls;
    if (open->second.call.kind == ChaosCallKind::kDelete) work.deleting = false;
    open = open_.erase(open);
  }
}

// --- Operations. ------------------------------------------------------------

void Chaos::BeginOperation(std::int64_t now) {
  constexpr Operation kOperations[] = {
      Operation::kBroadcast, Operation::kReduce, Operation::kAllreduce};
  std::vector<int> members = cluster_->Up();
  if (members.size() < 2) return;
  random_.Shuffle(members);
  const auto all = static_cast<std::uint32_t>(members.size());
  // Half of the reductions have one or two spares.
  const auto spares = static_cast<std::uint32_t>(
      all > 3 && random_.Chance(1, 2) ? random_.Between(1, 2) : 0);
  ChaosPlan plan{
      .operation = kOperations[random_.Below(3)],
      .content = {.seed = options_.seed, .operation = ++last_operation_},
      .bytes = DrawBytes(random_),
      .members = std::move(members),
      .count = all - spares,
      .deadline = now + kDeadlineNanos};
  in_hand_ = last_operation_;
  Work& work =
      works_
          .emplace(in_hand_, Work{.operation = ChaosOperation(std::move(plan)),
                                  .begun = now})
          .first->second;
  if (!IsCalm(kAfterNanos)) work.operation.OnDisturbed();
}

void Chaos::OnDone(Work& work, std::int64_t now) {
  const auto milliseconds = [now](std::int64_t since) {
    return static_cast<double>(now - since) / 1e6;
  };
  ++result_.operations;
  if (work.operation.abandoned()) {
    ++result_.abandoned;
  } else {
    for (const auto& [fault, at] : work.faults) {
      result_.faults[fault].until_done_ms.push_back(milliseconds(at));
    }
    if (!work.operation.disturbed()) {
      result_.undisturbed_ms.push_back(milliseconds(work.begun));
    }
  }
  if (options_.verbose) {
    std::cerr << absl::StrFormat(
        "chaos: operation %d (%s, %d bytes, %d members) took %.1f ms\n",
        in_hand_, ToString(work.operation.plan().operation),
        work.operation.plan().bytes, work.operation.plan().members.size(),
        milliseconds(work.begun));
  }
  work.operation.Finish();
  in_hand_ = 0;
}

// Deletes what is done; and again where calls have ended since, which may have
// put something. What neither needs is forgotten.
void Chaos::CleanUp(std::int64_t now) {
  const std::vector<int> up = cluster_->Up();
  for (auto& [number, work] : works_) {
    if (number == in_hand_ || work.deleting || up.empty()) continue;
    if (work.deleted && (work.open_calls > 0 || !work.late)) continue;
    if (now < work.retry) continue;
    work.deleting = true;
    work.deleted = work.late = false;
    const std::uint64_t turn = number + work.deletes++;
    MakeCall(number, up[turn % up.size()],
             work.operation.DeleteCall(now + kDeadlineNanos));
  }
  std::erase_if(works_, [this](const auto& entry) {
    const Work& work = entry.second;
    if (!work.deleted || work.open_calls > 0 || work.late) return false;
    result_.wrong_bytes += work.operation.wrong_bytes();
    return true;
  });
}

// --- Calls. -----------------------------------------------------------------

void Chaos::MakeCall(std::uint64_t work, int host, const ChaosCall& call) {
  const std::uint64_t number = cluster_->Call(host, call);
  open_.emplace(number, OpenCall{.work = work, .host = host, .call = call});
  ++works_.at(work).open_calls;
}

void Chaos::TakeAnswers() {
  absl::Time deadline = absl::Now() + kTick;
  while (auto answer = cluster_->Next(deadline)) {
    const auto found = open_.find(answer->call);
    deadline = absl::InfinitePast();  // what is there, and no more
    if (found == open_.end()) continue;
    const OpenCall open = found->second;
    open_.erase(found);
    OnAnswer(open, answer->end);
  }
}

void Chaos::OnAnswer(const OpenCall& open, const ChaosEnd& end) {
  Work& work = works_.at(open.work);
  --work.open_calls;
  ++result_.ends[absl::StatusCodeToString(end.code)];
  const std::int64_t due =
      std::max(open.call.deadline, cluster_->WokenAt(open.host));
  const bool late = end.ended > due + kMarginNanos;
  if (options_.verbose && end.code != absl::StatusCode::kOk) {
    std::cerr << absl::StrCat("chaos: ", Describe(open, end), "\n");
  }
  if (end.code == absl::StatusCode::kUnavailable && !open.hit &&
      cluster_->IsUp(open.host)) {
    ++result_.lost_lives;
    cluster_->Doubt(open.host);
  }
  ChaosVerdict verdict = ChaosVerdict::kRight;
  if (open.call.kind == ChaosCallKind::kDelete) {
    OnDeleteEnd(open, end);
    if (end.code == absl::StatusCode::kDeadlineExceeded && !open.hit) {
      verdict = ChaosVerdict::kPastDeadline;
    }
  } else {
    const std::uint64_t wrong = work.operation.wrong_bytes();
    verdict = work.operation.OnEnd(open.host, open.call, end, SteadyNanos());
    work.late = true;
    if (work.operation.wrong_bytes() > wrong) {
      std::uint64_t counted_elsewhere = 0;
      Complain(counted_elsewhere, open, end);
    }
  }
  if (late || verdict == ChaosVerdict::kPastDeadline) {
    Complain(result_.hangs, open, end);
  } else if (verdict == ChaosVerdict::kWrong) {
    Complain(result_.wrong_ends, open, end);
  }
  // Whoever has lost its node owes nothing more.
  if (!cluster_->IsUp(open.host)) OnHit(open.host, /*killed=*/false);
}

void Chaos::OnDeleteEnd(const OpenCall& open, const ChaosEnd& end) {
  Work& work = works_.at(open.work);
  work.deleting = false;
  work.deleted = end.code == absl::StatusCode::kOk;
  work.retry = SteadyNanos() + kDeleteAgainNanos;
}

void Chaos::FindOverdue(std::int64_t now) {
  std::vector<std::uint64_t> overdue;
  for (const auto& [number, open] : open_) {
    if (cluster_->IsStopped(open.host)) continue;
    const std::int64_t due =
        std::max(open.call.deadline, cluster_->WokenAt(open.host));
    if (now > due + kMarginNanos + kAnswerNanos) overdue.push_back(number);
  }
  for (const std::uint64_t number : overdue) {
    const OpenCall open = open_.at(number);
    open_.erase(number);
    OnAnswer(open, {.code = absl::StatusCode::kDeadlineExceeded,
                    .message = "it has not returned",
                    .ended = now});
  }
}

void Chaos::Complain(std::uint64_t& count, const OpenCall& open,
                     const ChaosEnd& end) {
  ++count;
  if (result_.complaints.size() < kComplaintsMax) {
    result_.complaints.push_back(Describe(open, end));
  }
}

std::string Chaos::Describe(const OpenCall& open, const ChaosEnd& end) const {
  return absl::StrFormat(
      "%s of operation %d (%s, %d bytes), object %d, on host %d, %+.3f s "
      "from the deadline: %s: %s",
      ToString(open.call.kind), open.work,
      ToString(works_.at(open.work).operation.plan().operation),
      open.call.bytes, open.call.object, open.host,
      static_cast<double>(end.ended - open.call.deadline) / kSecond,
      absl::StatusCodeToString(end.code), end.message);
}

}  // namespace hoplite::cli
