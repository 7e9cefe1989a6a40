// The clients' calls that are not answered yet, and their deadlines.
//
// Thread safety: none; one thread at a time.

#ifndef HOPLITE_CORE_LOCAL_REQUEST_TABLE_H_
#define HOPLITE_CORE_LOCAL_REQUEST_TABLE_H_

#include <optional>
#include <set>
#include <utility>

#include "absl/container/btree_map.h"
#include "absl/time/time.h"
#include "hoplite/base/check.h"
#include "hoplite/core/command.h"

namespace hoplite {

enum class RequestKind : std::uint8_t { kPut, kGet, kDelete, kReduce };

class RequestTable {
 public:
  struct Request {
    RequestKind kind = RequestKind::kGet;
    ObjectId object;
    absl::Time deadline;
  };

  // REQUIRES: the id was never used before.
  void Add(RequestId id, const Request& request) {
    HOPLITE_CHECK(requests_.emplace(id, request).second);
    if (request.deadline != absl::InfiniteFuture()) {
      deadlines_.emplace(request.deadline, id);
    }
  }
  const Request* Find(RequestId id) const {
    auto it = requests_.find(id);
    return it == requests_.end() ? nullptr : &it->second;
  }
  // The only answer. One that was answered already is not answered again.
  void Answer(command::AnswerRequest answer, Commands& out) {
    auto it = requests_.find(answer.request);
    if (it == requests_.end()) return;
    deadlines_.erase({it->second.deadline, answer.request});
    requests_.erase(it);
    out.push_back(std::move(answer));
  }
  // A request whose deadline has come; it stays until it is answered.
  std::optional<RequestId> NextExpired(absl::Time now) const {
    if (deadlines_.empty() || deadlines_.begin()->first > now) {
      return std::nullopt;
    }
    return deadlines_.begin()->second;
  }
  std::optional<absl::Time> NextDeadline() const {
    if (deadlines_.empty()) return std::nullopt;
    return deadlines_.begin()->first;
  }
  std::size_t size() const { return requests_.size(); }
  const absl::btree_map<RequestId, Request>& all() const { return requests_; }

 private:
  absl::btree_map<RequestId, Request> requests_;
  std::set<std::pair<absl::Time, RequestId>> deadlines_;
};

}  // namespace hoplite

#endif  // HOPLITE_CORE_LOCAL_REQUEST_TABLE_H_
