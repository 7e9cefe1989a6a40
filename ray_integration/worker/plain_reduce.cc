#include "ray_integration/worker/plain_reduce.h"

#include <array>
#include <cstddef>
#include <cstring>
#include <memory>
#include <span>
#include <utility>

#include "absl/strings/str_cat.h"
#include "hoplite/base/status_macros.h"
#include "hoplite/kernels/fold.h"
#include "ray_integration/api/registry.h"

namespace hoplite::task {
namespace {

// What stands in the argument, beside the references.
struct Plan {
  ReduceOp op = ReduceOp::kSum;
  DataType type = DataType::kF32;
  std::uint32_t count = 0;
};

using Bytes = std::vector<std::byte>;

// Folds `source` into the sum, which the first one begins.
absl::Status FoldIn(const Plan& plan, const Stored& source, bool first,
                    bool last, Encoded& result, Bytes& sum) {
  if (first) {
    sum.assign(source.bytes.begin(), source.bytes.end());
    result.meta = source.meta;
    return absl::OkStatus();
  }
  if (source.bytes.size() != sum.size() || source.meta != result.meta) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a Reduce needs sources of one type and shape, and got two, of ",
        sum.size(), " and ", source.bytes.size(), " bytes"));
  }
  const std::array<std::span<const std::byte>, 2> inputs = {
      std::span<const std::byte>(sum), source.bytes};
  Fold({.op = plan.op,
        .type = plan.type,
        .divisor = last && plan.op == ReduceOp::kAverage ? plan.count : 1},
       sum, inputs);
  return absl::OkStatus();
}

using SetReduced = std::function<void(std::vector<ObjectId>)>;

absl::StatusOr<Encoded> Run(Runtime& runtime, const SetReduced& set_reduced,
                            const Stored& argument) {
  Plan plan;
  if (argument.bytes.size() != sizeof(plan)) {
    return absl::InvalidArgumentError("a Reduce without its plan");
  }
  std::memcpy(&plan, argument.bytes.data(), sizeof(plan));
  std::vector<Reference> left = argument.references;
  auto sum = std::make_shared<Bytes>();
  Encoded result;
  std::vector<ObjectId> reduced;
  absl::Status failed;
  while (reduced.size() < plan.count) {
    if (left.empty()) return failed;
    HOPLITE_ASSIGN_OR_RETURN(const std::vector<std::size_t> ready,
                             runtime.Wait(left, 1, absl::InfiniteDuration()));
    const Reference source = left[ready.front()];
    left.erase(left.begin() + static_cast<std::ptrdiff_t>(ready.front()));
    const absl::StatusOr<Stored> value =
        runtime.Get(source, absl::InfiniteDuration());
    if (!value.ok()) {  // left out, as long as enough others are there
      failed = value.status();
      continue;
    }
    HOPLITE_RETURN_IF_ERROR(FoldIn(plan, *value, reduced.empty(),
                                   reduced.size() + 1 == plan.count, result,
                                   *sum));
    reduced.push_back(source->id);
  }
  set_reduced(std::move(reduced));
  if (!sum->empty()) result.pieces.push_back(*sum);
  result.owner = sum;
  return result;
}

}  // namespace

Call PlainReduceCall(const std::vector<Reference>& sources, ReduceOp op,
                     DataType type, std::optional<std::uint32_t> count) {
  const auto plan = std::make_shared<Plan>();
  plan->op = op;
  plan->type = type;
  plan->count = count.value_or(static_cast<std::uint32_t>(sources.size()));
  Encoded argument;
  argument.pieces.push_back(std::as_bytes(std::span(plan.get(), 1)));
  argument.references = sources;
  argument.owner = plan;
  Call call{.function = kPlainReduce};
  call.arguments.emplace_back(std::move(argument));
  return call;
}

void RegisterPlainReduce(Runtime& runtime, SetReduced set_reduced) {
  // A function's address by which nobody asks for it.
  Registry::Global().Add(
      kPlainReduce, FunctionKey::Of(&RegisterPlainReduce),
      {.kind = FunctionKind::kTask,
       .invoke = [&runtime, set_reduced = std::move(set_reduced)](
                     Instance&, std::vector<Stored>& arguments)
           -> absl::StatusOr<Encoded> {
         if (arguments.size() != 1) {
           return absl::InvalidArgumentError("a Reduce without its plan");
         }
         return Run(runtime, set_reduced, arguments.front());
       }});
}

}  // namespace hoplite::task
