#include "hoplite/cli/chaos_operation.h"

#include <algorithm>
#include <utility>

#include "hoplite/base/check.h"

namespace hoplite::cli {
namespace {

// Between two attempts: what was lost is asked for at once, and what is
// refused because its dead holder still counts as alive now and then.
constexpr std::int64_t kRetryNanos = 100'000'000;
constexpr std::int64_t kPutAgainNanos = 500'000'000;

bool IsLoss(absl::StatusCode code) {
  return code == absl::StatusCode::kDataLoss ||
         code == absl::StatusCode::kUnavailable;
}

}  // namespace

ChaosOperation::ChaosOperation(ChaosPlan plan)
    : plan_(std::move(plan)),
      reduces_(Reduces(plan_.operation)),
      sources_(reduces_ ? plan_.members.size() : 1),
      readers_(plan_.members.size()) {
  HOPLITE_CHECK(!plan_.members.empty());
  for (std::size_t i = 0; i < sources_.size(); ++i) sources_[i].putter = i;
  for (std::size_t i = 0; i < readers_.size(); ++i) {
    readers_[i].wants = plan_.operation != Operation::kReduce || i == 0;
  }
  reduction_.needed = reduces_;
}

std::optional<std::size_t> ChaosOperation::IndexOf(int member) const {
  const auto found = std::ranges::find(plan_.members, member);
  if (found == plan_.members.end()) return std::nullopt;
  return static_cast<std::size_t>(found - plan_.members.begin());
}

std::size_t ChaosOperation::Survivor(std::size_t index) const {
  for (std::size_t i = 0; i < members(); ++i) {
    const std::size_t candidate = (index + i) % members();
    if (!readers_[candidate].hit) return candidate;
  }
  return members();
}

bool ChaosOperation::done() const {
  if (finished_ || abandoned()) return true;
  if (reduces_ && reduction_.needed) return false;
  return std::ranges::none_of(readers_, [](const Reader& reader) {
    return reader.wants && !reader.hit;
  });
}

// --- Calls. -----------------------------------------------------------------

ChaosCall ChaosOperation::NewCall(ChaosCallKind kind,
                                  std::size_t object) const {
  return {.kind = kind,
          .content = plan_.content,
          .bytes = plan_.bytes,
          .objects = static_cast<std::uint32_t>(sources_.size()),
          .object = static_cast<std::uint32_t>(object),
          .count = plan_.count,
          .deadline = plan_.deadline};
}

ChaosCall ChaosOperation::DeleteCall(std::int64_t deadline) const {
  ChaosCall call = NewCall(ChaosCallKind::kDelete, 0);
  call.deadline = deadline;
  return call;
}

std::vector<ChaosOperation::Order> ChaosOperation::Next(std::int64_t now) {
  std::vector<Order> orders;
  if (done()) return orders;
  const auto order = [&](std::size_t index, ChaosCallKind kind,
                         std::size_t object) {
    orders.push_back({plan_.members[index], NewCall(kind, object)});
  };
  for (std::size_t i = 0; i < sources_.size(); ++i) {
    Source& source = sources_[i];
    if (source.accepted || source.calling || now < source.retry) continue;
    source.putter = Survivor(source.putter);
    source.calling = true;
    ++source.tries;
    order(source.putter, ChaosCallKind::kPut, i);
  }
  if (reduction_.needed && !reduction_.calling && now >= reduction_.retry) {
    reduction_.calling = true;
    ++reduction_.tries;
    order(reduction_.caller, ChaosCallKind::kReduce, 0);
  }
  const std::size_t result = reduces_ ? sources_.size() : 0;
  for (std::size_t i = 0; i < readers_.size(); ++i) {
    Reader& reader = readers_[i];
    if (!reader.wants || reader.hit || reader.calling) continue;
    if (now < reader.retry) continue;
    reader.calling = true;
    order(i, ChaosCallKind::kGet, result);
  }
  return orders;
}

void ChaosOperation::OnHit(int member) {
  const std::optional<std::size_t> index = IndexOf(member);
  if (!index.has_value() || readers_[*index].hit) return;
  disturbed_ = true;
  readers_[*index].hit = true;
  const std::size_t next = Survivor(*index);
  if (next == members() || finished_) return;
  for (Source& source : sources_) {
    if (source.putter != *index) continue;
    // Even where it was accepted: the bytes may be gone.
    source.accepted = source.calling = false;
    source.retry = 0;
    ++source.tries;
  }
  if (!reduces_ || reduction_.caller != *index) return;
  reduction_.caller = next;
  if (plan_.operation == Operation::kReduce) {
    readers_[next].wants = true;
    reduction_.needed = true;
  }
  reduction_.calling = false;
}

// --- Ends. ------------------------------------------------------------------

ChaosVerdict ChaosOperation::OnEnd(int member, const ChaosCall& call,
                                   const ChaosEnd& end, std::int64_t now) {
  const std::optional<std::size_t> index = IndexOf(member);
  HOPLITE_CHECK(index.has_value());
  const ChaosVerdict verdict = Judge(*index, call, end.code);
  switch (call.kind) {
    case ChaosCallKind::kPut:
      OnPutEnd(*index, call, end, now);
      break;
    case ChaosCallKind::kGet:
      OnGetEnd(*index, end, now);
      break;
    case ChaosCallKind::kReduce:
      OnReduceEnd(*index, end, now);
      break;
    case ChaosCallKind::kDelete:
      break;
  }
  return verdict;
}

ChaosVerdict ChaosOperation::Judge(std::size_t index, const ChaosCall& call,
                                   absl::StatusCode code) const {
  const bool hit = readers_[index].hit;
  switch (code) {
    case absl::StatusCode::kOk:
      return ChaosVerdict::kRight;
    case absl::StatusCode::kDeadlineExceeded:
      return hit ? ChaosVerdict::kRight : ChaosVerdict::kPastDeadline;
    case absl::StatusCode::kDataLoss:
    case absl::StatusCode::kUnavailable:
      return disturbed_ ? ChaosVerdict::kRight : ChaosVerdict::kWrong;
    case absl::StatusCode::kNotFound:
      // Its objects are deleted when it is done, also one that is only now
      // being put: a reduction that needed it no more had waited for it.
      return done() || (disturbed_ && hit) ? ChaosVerdict::kRight
                                           : ChaosVerdict::kWrong;
    case absl::StatusCode::kAlreadyExists: {
      const bool again = call.kind == ChaosCallKind::kPut
                             ? sources_[call.object].tries > 1
                             : reduction_.tries > 1;
      return again && call.kind != ChaosCallKind::kGet ? ChaosVerdict::kRight
                                                       : ChaosVerdict::kWrong;
    }
    default:
      return ChaosVerdict::kWrong;
  }
}

void ChaosOperation::OnPutEnd(std::size_t index, const ChaosCall& call,
                              const ChaosEnd& end, std::int64_t now) {
  Source& source = sources_[call.object];
  if (source.putter != index || !source.calling) return;  // another puts it
  source.calling = false;
  source.accepted = end.code == absl::StatusCode::kOk;
  source.retry =
      now + (end.code == absl::StatusCode::kAlreadyExists ? kPutAgainNanos
                                                          : kRetryNanos);
}

void ChaosOperation::OnGetEnd(std::size_t index, const ChaosEnd& end,
                              std::int64_t now) {
  Reader& reader = readers_[index];
  reader.calling = false;
  reader.retry = now + kRetryNanos;
  if (end.code == absl::StatusCode::kOk) {
    reader.wants = false;
    wrong_bytes_ += end.reading.wrong_bytes;
    CheckWeight(end.reading.weight);
  } else if (!IsLoss(end.code)) {
    reader.wants = false;  // in vain: it was judged
  } else if (end.code == absl::StatusCode::kDataLoss) {
    OnLost(now);
  }
}

void ChaosOperation::OnReduceEnd(std::size_t index, const ChaosEnd& end,
                                 std::int64_t now) {
  if (end.code == absl::StatusCode::kOk) {
    ChaosWeight sum;
    for (const std::uint32_t source : end.sources) {
      if (source < sources_.size()) sum = sum + plan_.content.Weight(source);
    }
    if (end.sources.size() != plan_.count) wrong_bytes_ += plan_.bytes;
    CheckWeight(sum);
  }
  if (reduction_.caller != index || !reduction_.calling) return;
  reduction_.calling = false;
  reduction_.retry = now + kRetryNanos;
  // kAlreadyExists: it is made, and nobody knows any more of what.
  reduction_.needed = IsLoss(end.code);
  if (end.code == absl::StatusCode::kDataLoss) lost_ = true;
}

void ChaosOperation::OnLost(std::int64_t now) {
  lost_ = true;
  if (reduces_) {
    if (!reduction_.needed) reduction_.retry = now;
    reduction_.needed = true;
  } else if (!sources_[0].calling) {
    sources_[0].accepted = false;
    sources_[0].retry = now;
    ++sources_[0].tries;
  }
}

void ChaosOperation::CheckWeight(const ChaosWeight& weight) {
  const bool possible =
      reduces_
          ? IsSumOf(plan_.content, static_cast<std::uint32_t>(sources_.size()),
                    plan_.count, weight)
          : weight == plan_.content.Weight(0);
  // Two readers of one target see the same, unless it was made twice.
  const bool same = lost_ || !weight_.has_value() || weight == *weight_;
  if (!possible || !same) wrong_bytes_ += plan_.bytes;
  weight_ = weight;
}

}  // namespace hoplite::cli
