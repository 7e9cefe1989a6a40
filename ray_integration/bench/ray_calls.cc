// Ray's tasks, actor calls and puts through its C++ API, measured as
// call_figures.h says. The benchmark compiles it against Ray's own headers when
// it first needs it; Bazel does not.
//
//   ray_calls WARM_UPS REPETITIONS BATCH CALLS ADDRESS LIBRARY
//
// ADDRESS is that of the Ray cluster; LIBRARY this text as a shared library,
// which Ray's workers load.

#include <ray/api.h>

#include <memory>
#include <string>
#include <vector>

#include "ray_integration/bench/call_figures.h"

namespace hoplite::task {
namespace {

int Answer() { return kAnswer; }

class Counter {
 public:
  // tidy-allow(new): Ray's factories return a pointer, which Ray then owns.
  static Counter* Create() { return new Counter(); }
  int Next() { return ++calls_; }

 private:
  int calls_ = 0;
};

RAY_REMOTE(Answer, Counter::Create, &Counter::Next);

// Copies it: a Ray reference that is moved is for a moment none at all, and
// what it refers to may go.
template <typename T>
void Keep(const ray::ObjectRef<T>& reference,
          std::vector<ray::ObjectRef<T>>& kept) {
  kept.push_back(reference);
}

class RayCalls final : public CallSystem {
 public:
  RayCalls() : actor_(ray::Actor(Counter::Create).Remote()) {}

  void RunTasks(int count) override {
    std::vector<ray::ObjectRef<int>> results;
    results.reserve(count);
    for (int i = 0; i < count; ++i) {
      Keep(ray::Task(Answer).Remote(), results);
    }
    for (const std::shared_ptr<int>& result : ray::Get(results)) {
      CheckResult(*result, kAnswer);
    }
  }

  void CallActor(int count) override {
    std::vector<ray::ObjectRef<int>> results;
    results.reserve(count);
    for (int i = 0; i < count; ++i) {
      Keep(actor_.Task(&Counter::Next).Remote(), results);
    }
    for (const std::shared_ptr<int>& result : ray::Get(results)) {
      CheckResult(*result, ++calls_);
    }
  }

  void Put(const std::vector<std::string>& values) override {
    references_.reserve(values.size());
    for (const std::string& value : values) {
      Keep(ray::Put(value), references_);
    }
  }

  void TakeBack(const std::vector<std::string>& values) override {
    const auto results = ray::Get(references_);
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (*results[i] != values[i]) FailCalls("a value came back wrong");
    }
    references_.clear();
  }

 private:
  ray::ActorHandle<Counter> actor_;
  int calls_ = 0;
  std::vector<ray::ObjectRef<std::string>> references_;
};

int Main(int argc, char** argv) {
  if (argc != 7) FailCalls("give the plan, ADDRESS and LIBRARY");
  const CallPlan plan = CallPlan::Parse(argc, argv);
  ray::RayConfig config;
  config.address = argv[5];
  config.code_search_path = {argv[6]};
  ray::Init(config);
  {
    RayCalls system;
    PrintCallFigures("ray-cpp", plan, system);
  }
  ray::Shutdown();
  return 0;
}

}  // namespace
}  // namespace hoplite::task

int main(int argc, char** argv) { return hoplite::task::Main(argc, argv); }
