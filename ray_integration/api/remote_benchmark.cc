// What the templates add to a call: everything but the runtime's own work.
//
//   ./bazelw run --config=bench //ray_integration/api:remote_benchmark

#include <benchmark/benchmark.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "hoplite/base/id.h"
#include "hoplite/base/reduction.h"
#include "ray_integration/api/codec.h"
#include "ray_integration/api/options.h"
#include "ray_integration/api/register.h"
#include "ray_integration/api/registry.h"
#include "ray_integration/api/remote.h"
#include "ray_integration/api/runtime.h"
#include "ray_integration/api/value.h"

namespace hoplite::task {
namespace {

int Plus(int a, int b) { return a + b; }
HOPLITE_REMOTE(Plus);

// Copies the bytes of the arguments, as any runtime has to, and that is all.
class NullRuntime final : public Runtime {
 public:
  Reference Submit(Call call) override {
    message_.clear();
    for (const Argument& argument : call.arguments) {
      std::get<Encoded>(argument).AppendTo(message_);
    }
    return reference_;
  }
  ActorReference CreateActor(Call, ActorOptions) override { return nullptr; }
  Reference CallActor(const ActorReference&, Call) override {
    return reference_;
  }
  absl::StatusOr<Reference> Put(const Encoded&) override { return reference_; }
  absl::StatusOr<Stored> Get(const Reference&, absl::Duration) override {
    return Stored();
  }
  absl::StatusOr<std::vector<std::size_t>> Wait(std::span<const Reference>,
                                                std::size_t,
                                                absl::Duration) override {
    return std::vector<std::size_t>();
  }
  Reference Reduce(std::vector<Reference>, ReduceOp, DataType,
                   std::optional<std::uint32_t>) override {
    return reference_;
  }
  absl::StatusOr<std::vector<ObjectId>> ReducedRefs(const Reference&,
                                                    absl::Duration) override {
    return std::vector<ObjectId>();
  }
  void Cancel(const Reference&, bool) override {}
  void Kill(const ActorReference&) override {}
  bool IsCancelled() override { return false; }
  Reference FailedReference(absl::Status) override { return reference_; }
  ActorReference FailedActor(absl::Status) override { return nullptr; }

 private:
  std::string message_;
  Reference reference_ = std::make_shared<ReferenceState>(ObjectId());
};

void BM_RemoteOfTwoNumbers(benchmark::State& state) {
  NullRuntime runtime;
  Runtime::Install(&runtime);
  for (auto _ : state) benchmark::DoNotOptimize(Remote(Plus, 1, 2));
  Runtime::Install(nullptr);
}
BENCHMARK(BM_RemoteOfTwoNumbers);

// The worker's side, with decoding and the result.
void BM_RunOfTwoNumbers(benchmark::State& state) {
  const int numbers[] = {1, 2};
  const auto stored = [&numbers](int i) {
    return Stored{.bytes = std::as_bytes(std::span(&numbers[i], 1)),
                  .meta = Encode(numbers[i]).meta};
  };
  const auto* plus = Registry::Global().Find("hoplite::task::Plus");
  Instance none;
  for (auto _ : state) {
    std::vector<Stored> arguments = {stored(0), stored(1)};
    benchmark::DoNotOptimize(plus->invoke(none, arguments));
  }
}
BENCHMARK(BM_RunOfTwoNumbers);

}  // namespace
}  // namespace hoplite::task
