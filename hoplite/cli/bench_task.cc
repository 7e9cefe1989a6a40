#include "hoplite/cli/bench_task.h"

#include <algorithm>
#include <cstddef>

#include "absl/strings/str_cat.h"
#include "hoplite/base/digest.h"
#include "hoplite/base/status_macros.h"
#include "hoplite/cli/files.h"
#include "hoplite/cli/mapped_memory.h"
#include "hoplite/cli/steady_clock.h"
#include "hoplite/kernels/fold.h"

namespace hoplite::cli {
namespace {

using Json = nlohmann::json;

}  // namespace

Json ToJson(const TaskPlan& plan) {
  return {{"operation", static_cast<int>(plan.operation)},
          {"schedule", static_cast<int>(plan.schedule)},
          {"member", plan.member},
          {"members", plan.members},
          {"caller", plan.caller},
          {"count", plan.count},
          {"bytes", plan.bytes},
          {"nonce", plan.content.nonce},
          {"seed", plan.content.seed},
          {"row", plan.content.row},
          {"run", plan.content.run},
          {"arrives", plan.arrives},
          {"timeout_ms", absl::ToInt64Milliseconds(plan.timeout)},
          {"file", plan.file},
          {"file_sha256", plan.file_sha256}};
}

TaskPlan TaskPlanFromJson(const Json& json) {
  TaskPlan plan;
  plan.operation = static_cast<Operation>(json.at("operation").get<int>());
  plan.schedule = static_cast<Schedule>(json.at("schedule").get<int>());
  plan.member = json.at("member");
  plan.members = json.at("members");
  plan.caller = json.at("caller");
  plan.count = json.at("count");
  plan.bytes = json.at("bytes");
  plan.content.nonce = json.at("nonce");
  plan.content.seed = json.at("seed");
  plan.content.row = json.at("row");
  plan.content.run = json.at("run");
  plan.content.objects = plan.members;
  plan.arrives = json.at("arrives");
  plan.timeout = absl::Milliseconds(json.at("timeout_ms").get<std::int64_t>());
  plan.file = json.at("file");
  plan.file_sha256 = json.at("file_sha256");
  return plan;
}

// --- Before the clock. ------------------------------------------------------

bool BenchTask::Puts() const {
  if (plan_.member >= plan_.members) return false;
  switch (plan_.operation) {
    case Operation::kRoundtrip:
    case Operation::kBroadcast:
      return plan_.member == 0;
    case Operation::kGather:
      return plan_.member > 0;
    case Operation::kReduce:
    case Operation::kAllreduce:
    case Operation::kAllgather:
      return true;
  }
  return true;
}

// In a broadcast it is the readers who arrive.
bool BenchTask::PutsAtArrival() const {
  return plan_.arrives && plan_.operation != Operation::kBroadcast;
}

absl::StatusOr<std::int64_t> BenchTask::Prepare() {
  if (plan_.member >= plan_.members) {
    // Those who put them may be lost before they delete them.
    for (std::uint32_t i = 0; i < plan_.members; ++i) {
      made_.push_back(plan_.content.Id(i));
    }
  }
  if (!Puts()) return 0;
  if (!plan_.file.empty()) {
    HOPLITE_ASSIGN_OR_RETURN(const Descriptor file, OpenForReading(plan_.file));
    HOPLITE_ASSIGN_OR_RETURN(const MappedMemory mapped,
                             MappedMemory::OfFile(file.number()));
    return PutNow(mapped.bytes());
  }
  if (!PutsAtArrival()) {
    HOPLITE_ASSIGN_OR_RETURN(const MappedMemory bytes,
                             MappedMemory::Zeros(plan_.bytes));
    plan_.content.Fill(plan_.member, 0, bytes.bytes());
    return PutNow(bytes.bytes());
  }
  const ObjectId id = plan_.content.Id(plan_.member);
  HOPLITE_ASSIGN_OR_RETURN(
      unsealed_, client_.Create(id, plan_.bytes, {.timeout = plan_.timeout}));
  made_.push_back(id);
  plan_.content.Fill(plan_.member, 0, unsealed_->data());
  return 0;
}

absl::StatusOr<std::int64_t> BenchTask::PutNow(
    std::span<const std::byte> bytes) {
  const ObjectId id = plan_.content.Id(plan_.member);
  made_.push_back(id);
  const std::int64_t begin = SteadyNanos();
  HOPLITE_RETURN_IF_ERROR(client_.Put(id, bytes, call_));
  return SteadyNanos() - begin;
}

// --- The timed part. --------------------------------------------------------

absl::Status BenchTask::Run(std::int64_t start, std::int64_t arrival) {
  SleepUntilSteadyNanos(start);
  if (Reduces(plan_.operation) && plan_.member == plan_.caller) {
    return Reduce(arrival);
  }
  HOPLITE_RETURN_IF_ERROR(Arrive(arrival));
  if (plan_.member >= plan_.members) return absl::OkStatus();
  switch (plan_.operation) {
    case Operation::kRoundtrip:
      return GoAndComeBack();
    case Operation::kBroadcast:
      // Of a file, the sender's copy is checked as well.
      return plan_.member == 0 && plan_.file.empty() ? absl::OkStatus()
                                                     : Get(0);
    case Operation::kGather:
      return plan_.member == 0 ? GetAll(1) : absl::OkStatus();
    case Operation::kReduce:
      return absl::OkStatus();
    case Operation::kAllreduce:
      return Get(plan_.members);
    case Operation::kAllgather:
      return GetAll(0);
  }
  return absl::OkStatus();
}

absl::Status BenchTask::Arrive(std::int64_t arrival) {
  SleepUntilSteadyNanos(arrival);
  if (!unsealed_.has_value()) return absl::OkStatus();
  const absl::Status sealed = unsealed_->Seal();
  unsealed_.reset();
  return sealed;
}

absl::Status BenchTask::Get(std::uint32_t object) {
  HOPLITE_ASSIGN_OR_RETURN(Buffer buffer,
                           client_.Get(plan_.content.Id(object), call_));
  got_.emplace_back(object, std::move(buffer));
  return absl::OkStatus();
}

absl::Status BenchTask::GetAll(std::uint32_t first) {
  std::vector<std::pair<std::uint32_t, Future<Buffer>>> futures;
  for (std::uint32_t i = 0; i < plan_.members; ++i) {
    // Everybody begins behind itself, so that not all want the same at once.
    const std::uint32_t object = (plan_.member + i) % plan_.members;
    if (object < first || object == plan_.member) continue;
    futures.emplace_back(object,
                         client_.GetAsync(plan_.content.Id(object), call_));
  }
  for (auto& [object, future] : futures) {
    HOPLITE_ASSIGN_OR_RETURN(Buffer buffer, future.Get());
    got_.emplace_back(object, std::move(buffer));
  }
  return absl::OkStatus();
}

absl::Status BenchTask::GoAndComeBack() {
  if (plan_.member == 0) return Get(1);
  HOPLITE_RETURN_IF_ERROR(Get(0));
  const ObjectId id = plan_.content.Id(1);
  made_.push_back(id);
  // What came goes back: the same bytes under another id.
  return client_.Put(id, got_.front().second.bytes(), call_);
}

absl::Status BenchTask::Reduce(std::int64_t arrival) {
  if (plan_.schedule == Schedule::kPlain) return ReducePlainly(arrival);
  std::vector<ObjectId> sources;
  for (std::uint32_t i = 0; i < plan_.members; ++i) {
    sources.push_back(plan_.content.Id(i));
  }
  const ObjectId target = plan_.content.Target();
  made_.push_back(target);
  const Future<ReduceResult> reduced =
      client_.ReduceAsync(target, sources,
                          {.op = ReduceOp::kSum,
                           .type = DataType::kF32,
                           .count = plan_.count,
                           .timeout = plan_.timeout});
  const Future<Buffer> result = client_.GetAsync(target, call_);
  HOPLITE_RETURN_IF_ERROR(Arrive(arrival));
  HOPLITE_ASSIGN_OR_RETURN(const ReduceResult used, reduced.Get());
  HOPLITE_RETURN_IF_ERROR(TakeSources(used));
  HOPLITE_ASSIGN_OR_RETURN(Buffer buffer, result.Get());
  got_.emplace_back(plan_.members, std::move(buffer));
  return absl::OkStatus();
}

absl::Status BenchTask::TakeSources(const ReduceResult& used) {
  for (std::uint32_t i = 0; i < plan_.members; ++i) {
    if (std::ranges::count(used.sources, plan_.content.Id(i)) == 1) {
      sources_.push_back(i);
    }
  }
  if (sources_.size() == plan_.count && used.sources.size() == plan_.count) {
    return absl::OkStatus();
  }
  return absl::InternalError(absl::StrCat(
      "the reduction took ", used.sources.size(), " sources, of which ",
      sources_.size(), " are its own, and not ", plan_.count));
}

// This node pulls every input and adds each when it is there.
absl::Status BenchTask::ReducePlainly(std::int64_t arrival) {
  std::vector<Future<Buffer>> inputs;
  for (std::uint32_t i = 1; i < plan_.members; ++i) {
    inputs.push_back(client_.GetAsync(plan_.content.Id(i), call_));
  }
  HOPLITE_RETURN_IF_ERROR(Arrive(arrival));
  const ObjectId target = plan_.content.Target();
  made_.push_back(target);
  HOPLITE_ASSIGN_OR_RETURN(
      WritableBuffer sum,
      client_.Create(target, plan_.bytes, {.timeout = plan_.timeout}));
  HOPLITE_ASSIGN_OR_RETURN(const Buffer own,
                           client_.Get(plan_.content.Id(0), call_));
  std::ranges::copy(own.bytes(), sum.data().begin());
  const FoldSpec add{.op = ReduceOp::kSum, .type = DataType::kF32};
  while (!inputs.empty()) {
    const std::size_t first =
        WaitForFirst(std::span<const Future<Buffer>>(inputs), 1).front();
    HOPLITE_ASSIGN_OR_RETURN(const Buffer buffer, inputs[first].Get());
    const std::span<const std::byte> operands[] = {sum.data(), buffer.bytes()};
    Fold(add, sum.data(), operands);
    inputs.erase(inputs.begin() + static_cast<std::ptrdiff_t>(first));
  }
  HOPLITE_RETURN_IF_ERROR(sum.Seal());
  for (std::uint32_t i = 0; i < plan_.members; ++i) sources_.push_back(i);
  return Get(plan_.members);
}

// --- After it. --------------------------------------------------------------

std::uint64_t BenchTask::CountWrongBytes(
    const std::vector<std::uint32_t>& sources) const {
  std::uint64_t wrong = 0;
  for (const auto& [object, buffer] : got_) {
    if (!plan_.file.empty()) {
      const bool right = Sha256Hex(buffer.bytes()) == plan_.file_sha256;
      wrong += right ? 0 : std::max<std::uint64_t>(1, plan_.bytes);
    } else if (plan_.operation == Operation::kRoundtrip) {
      // What comes back is what was sent.
      wrong += plan_.content.WrongBytes(0, plan_.bytes, buffer.bytes());
    } else if (object == plan_.members) {
      wrong +=
          plan_.content.WrongSumBytes(sources, plan_.bytes, buffer.bytes());
    } else {
      wrong += plan_.content.WrongBytes(object, plan_.bytes, buffer.bytes());
    }
  }
  return wrong;
}

absl::Status BenchTask::CleanUp() {
  got_.clear();
  unsealed_.reset();
  std::vector<Future<void>> deleted;
  for (const ObjectId& id : made_) {
    deleted.push_back(client_.DeleteAsync(id, call_));
  }
  made_.clear();
  for (const Future<void>& future : deleted) {
    const absl::Status status = future.Get();
    if (!status.ok() && !absl::IsNotFound(status)) return status;
  }
  return absl::OkStatus();
}

}  // namespace hoplite::cli
