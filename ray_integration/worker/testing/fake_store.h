// A client whose node is played by hand: keeps the Gets until the test answers
// them. For whatever else is asked there is no answer.
//
// Thread safety: none; one thread at a time.

#ifndef HOPLITE_RAY_INTEGRATION_WORKER_TESTING_FAKE_STORE_H_
#define HOPLITE_RAY_INTEGRATION_WORKER_TESTING_FAKE_STORE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "hoplite/api/backend.h"
#include "hoplite/api/hoplite.h"
#include "hoplite/base/id.h"
#include "hoplite/core/event.h"
#include "hoplite/runtime/node_report.h"

namespace hoplite::task {

class FakeStore final : public Backend {
 public:
  RequestId NewRequest() override { return RequestId(++requests_); }
  void Submit(Event event, std::shared_ptr<CallObserver> observer) override;
  void Cancel(RequestId) override {}
  absl::StatusOr<NodeReport> Report(absl::Duration) override;
  void Shutdown() override;

  // How many Gets of it wait.
  std::size_t Waiting(const ObjectId& id) const { return gets_.count(id); }
  // Answers all that wait.
  void Bring(const ObjectId& id, const std::string& bytes);
  void Fail(const ObjectId& id, const absl::Status& why);

 private:
  std::vector<std::shared_ptr<CallObserver>> TakeGets(const ObjectId& id);

  std::uint64_t requests_ = 0;
  std::multimap<ObjectId, std::shared_ptr<CallObserver>> gets_;
};

}  // namespace hoplite::task

#endif  // HOPLITE_RAY_INTEGRATION_WORKER_TESTING_FAKE_STORE_H_
