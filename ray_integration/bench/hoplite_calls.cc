// Hoplite's tasks, actor calls and puts, measured as call_figures.h says.
//
//   hoplite_calls WARM_UPS REPETITIONS BATCH CALLS
//
// Joins the node of $HOPLITE_NODE.

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "ray_integration/api/task.h"
#include "ray_integration/bench/call_figures.h"

namespace hoplite::task {
namespace {

// Far more than a batch takes: only what hangs waits for it.
constexpr absl::Duration kTimeout = absl::Minutes(2);

int Answer() { return kAnswer; }

class CallCounter {
 public:
  int Next() { return ++calls_; }

 private:
  int calls_ = 0;
};

std::unique_ptr<CallCounter> MakeCallCounter() {
  return std::make_unique<CallCounter>();
}

HOPLITE_REMOTE(Answer, MakeCallCounter, &CallCounter::Next);

// All of them, in order.
template <typename T>
std::vector<Value<T>> Results(const std::vector<ObjectRef<T>>& references) {
  absl::StatusOr<std::vector<Value<T>>> results = Get(references, kTimeout);
  if (!results.ok()) FailCalls(results.status().ToString());
  return *std::move(results);
}

class HopliteCalls final : public CallSystem {
 public:
  HopliteCalls() : actor_(RemoteActor(MakeCallCounter)) {}

  void RunTasks(int count) override {
    std::vector<ObjectRef<int>> results;
    results.reserve(count);
    for (int i = 0; i < count; ++i) results.push_back(Remote(Answer));
    for (const Value<int>& result : Results(results)) {
      CheckResult(*result, kAnswer);
    }
  }

  void CallActor(int count) override {
    std::vector<ObjectRef<int>> results;
    results.reserve(count);
    for (int i = 0; i < count; ++i) {
      results.push_back(actor_.Remote(&CallCounter::Next));
    }
    for (const Value<int>& result : Results(results)) {
      CheckResult(*result, ++calls_);
    }
  }

  void Put(const std::vector<std::string>& values) override {
    references_.reserve(values.size());
    for (const std::string& value : values) {
      references_.push_back(task::Put(value));
    }
  }

  void TakeBack(const std::vector<std::string>& values) override {
    const std::vector<Value<std::string>> results = Results(references_);
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (*results[i] != values[i]) FailCalls("a value came back wrong");
    }
    references_.clear();
  }

 private:
  const ActorRef<CallCounter> actor_;
  int calls_ = 0;
  std::vector<ObjectRef<std::string>> references_;
};

int Main(int argc, char** argv) {
  const absl::Status started = Init(argc, argv);
  if (!started.ok()) FailCalls(started.ToString());
  const CallPlan plan = CallPlan::Parse(argc, argv);
  {
    HopliteCalls system;
    PrintCallFigures("hoplite", plan, system);
  }
  Shutdown();
  return 0;
}

}  // namespace
}  // namespace hoplite::task

int main(int argc, char** argv) { return hoplite::task::Main(argc, argv); }
