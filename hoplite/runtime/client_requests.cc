#include "hoplite/runtime/client_requests.h"

#include <algorithm>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "hoplite/base/check.h"
#include "hoplite/base/overloaded.h"
#include "hoplite/runtime/clock.h"

namespace hoplite {
namespace {

// What the table keeps of an event that is a request.
struct Request {
  absl::string_view operation;
  RequestId request;
  ObjectId object;
  absl::Time deadline;
};

Request Look(const Event& event) {
  return std::visit(
      Overloaded{
          [](const event::PutRequested& put) {
            return Request{"Put", put.request, put.object, put.deadline};
          },
          [](const event::GetRequested& get) {
            return Request{"Get", get.request, get.object, get.deadline};
          },
          [](const event::DeleteRequested& request) {
            return Request{"Delete", request.request, request.object,
                           request.deadline};
          },
          [](const event::ReduceRequested& reduce) {
            return Request{"Reduce", reduce.request, reduce.target,
                           reduce.deadline};
          },
          [](const auto& /*other*/) { return Request{}; },
      },
      event);
}

}  // namespace

absl::Status DescribeFailure(const command::AnswerRequest& answer,
                             const FailureContext& context) {
  std::string text =
      absl::StrCat(context.operation, " of ", context.object.ToHex(), " on ",
                   ToString(context.local.node));
  absl::StrAppend(&text, ": ",
                  answer.detail.empty() ? absl::StatusCodeToString(answer.code)
                                        : answer.detail);
  if (answer.remote && answer.remote != context.local) {
    absl::StrAppend(&text, "; remote ", ToString(answer.remote.node));
    if (!context.remote_address.empty()) {
      absl::StrAppend(&text, " at ", context.remote_address);
    }
  }
  if (answer.bytes_total != 0) {
    absl::StrAppend(&text, "; ", answer.bytes_done, " of ", answer.bytes_total,
                    " bytes done");
  } else {
    absl::StrAppend(&text, "; ", answer.bytes_done, " bytes done");
  }
  absl::StrAppend(&text, "; ", DescribeTimes(context.taken, context.timeout));
  return absl::Status(answer.code, text);
}

std::string DescribeTimes(absl::Duration taken, absl::Duration timeout) {
  std::string text =
      absl::StrFormat("after %.3fs, ", absl::ToDoubleSeconds(taken));
  if (timeout == absl::InfiniteDuration()) {
    absl::StrAppend(&text, "no deadline");
  } else {
    absl::StrAppendFormat(&text, "deadline %.3fs",
                          absl::ToDoubleSeconds(timeout));
  }
  return text;
}

bool ClientRequests::Add(const Event& event,
                         std::shared_ptr<RequestObserver> observer) {
  const Request request = Look(event);
  HOPLITE_CHECK(request.request);
  ++started_;
  Pending pending{.operation = request.operation,
                  .object = request.object,
                  .began = SystemClock::Now(),
                  .deadline = request.deadline,
                  .observer = std::move(observer),
                  .held = std::nullopt};
  NodeRef local;
  command::AnswerRequest answer;
  {
    MutexLock lock(mutex_);
    if (!closed_) {
      const bool is_new =
          pending_.emplace(request.request, std::move(pending)).second;
      HOPLITE_CHECK(is_new);
      return true;
    }
    local = local_;
    answer = last_answer_;
  }
  answer.request = request.request;
  Fail(pending, local, answer, "");
  return false;
}

std::shared_ptr<RequestObserver> ClientRequests::Find(RequestId request) const {
  MutexLock lock(mutex_);
  const auto found = pending_.find(request);
  return found == pending_.end() ? nullptr : found->second.observer;
}

void ClientRequests::Answer(const command::AnswerRequest& answer, NodeRef local,
                            std::string remote_address,
                            std::shared_ptr<ObjectBuffer> object) {
  Pending pending;
  {
    MutexLock lock(mutex_);
    const auto found = pending_.find(answer.request);
    if (found == pending_.end()) return;
    if (answer.code == absl::StatusCode::kOk) {
      found->second.held = RequestAnswer{.status = absl::OkStatus(),
                                         .object = std::move(object),
                                         .sources = answer.sources};
      if (doubtful_ != nullptr && doubtful_()) {
        ++held_;
        return;
      }
    }
    pending = std::move(found->second);
    pending_.erase(found);
  }
  if (pending.held.has_value()) {
    pending.observer->OnAnswer(*std::move(pending.held));
    return;
  }
  Fail(pending, local, answer, std::move(remote_address));
}

void ClientRequests::Review(bool doubtful, NodeRef local) {
  const absl::Time now = SystemClock::Now();
  std::vector<Pending> ended;
  {
    MutexLock lock(mutex_);
    if (held_ == 0) return;
    for (auto it = pending_.begin(); it != pending_.end();) {
      const auto entry = it++;
      const Pending& pending = entry->second;
      if (!pending.held.has_value() || (doubtful && now < pending.deadline)) {
        continue;
      }
      ended.push_back(std::move(entry->second));
      pending_.erase(entry);
      --held_;
    }
  }
  command::AnswerRequest late;
  late.code = absl::StatusCode::kDeadlineExceeded;
  late.detail =
      "this node stood still, and has not heard from the head since whether it "
      "is a member";
  for (Pending& pending : ended) {
    if (doubtful) {
      Fail(pending, local, late, "");
    } else {
      pending.observer->OnAnswer(*std::move(pending.held));
    }
  }
}

void ClientRequests::Close(NodeRef local, absl::StatusCode code,
                           std::string why) {
  command::AnswerRequest answer;
  answer.code = code;
  answer.detail = std::move(why);
  std::vector<std::pair<RequestId, Pending>> ended;
  {
    MutexLock lock(mutex_);
    closed_ = true;
    local_ = local;
    last_answer_ = answer;
    for (auto& [request, pending] : pending_) {
      ended.emplace_back(request, std::move(pending));
    }
    pending_.clear();
    held_ = 0;
  }
  std::ranges::sort(ended, {}, [](const auto& entry) { return entry.first; });
  for (const auto& [request, pending] : ended) {
    answer.request = request;
    Fail(pending, local, answer, "");
  }
}

void ClientRequests::Fail(const Pending& pending, NodeRef local,
                          const command::AnswerRequest& answer,
                          std::string remote_address) {
  ++failed_;
  const FailureContext context{
      .operation = pending.operation,
      .object = pending.object,
      .local = local,
      .remote_address = std::move(remote_address),
      .taken = SystemClock::Now() - pending.began,
      .timeout = pending.deadline - pending.began,
  };
  pending.observer->OnAnswer({.status = DescribeFailure(answer, context),
                              .object = nullptr,
                              .sources = {}});
}

}  // namespace hoplite
