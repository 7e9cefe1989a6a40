#include "apps/parameter_server/journal.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "apps/parameter_server/checkpoint.h"
#include "hoplite/base/status_macros.h"

namespace hoplite::apps {
namespace {

// A killed server loses no more than this.
constexpr absl::Duration kCheckpointEvery = absl::Seconds(1);
// The last step and the last judgement take far less.
constexpr absl::Duration kFinishTimeout = absl::Seconds(60);
constexpr std::size_t kParts = 5;
// Where weights come faster than they are judged, some are not.
constexpr std::size_t kJudgedMax = 64;
// Sums of whole numbers are exact up to here.
constexpr double kExactMax = 1 << 24;

Score Judge(WorkloadSpec spec, task::Value<Floats> weights) {
  return Evaluate(spec, *weights);
}

}  // namespace

HOPLITE_REMOTE(Judge);

Journal::Journal(const Options& options)
    : options_(options),
      begin_(absl::Now()),
      throughput_(begin_, options.warm_up),
      checkpoint_at_(begin_) {}

absl::StatusOr<std::unique_ptr<Journal>> Journal::Create(
    const Options& options) {
  // No make_unique: the constructor is private.
  std::unique_ptr<Journal> journal(new Journal(options));
  HOPLITE_RETURN_IF_ERROR(journal->curves_.Open(options.curves));
  journal->first_weights_ =
      Workload::Make(options.workload, 0, 0)->FirstWeights();
  if (options.checkpoint.empty()) return journal;
  HOPLITE_ASSIGN_OR_RETURN(std::optional<Checkpoint> checkpoint,
                           ReadCheckpoint(options.checkpoint));
  if (!checkpoint.has_value()) return journal;
  if (checkpoint->weights.size() != journal->first_weights_.size()) {
    return absl::FailedPreconditionError(absl::StrCat(
        options.checkpoint, " has ", checkpoint->weights.size(),
        " weights, and this workload ", journal->first_weights_.size()));
  }
  journal->updates_before_ = checkpoint->updates;
  journal->first_weights_ = std::move(checkpoint->weights);
  return journal;
}

bool Journal::Done() const {
  const bool enough =
      options_.iterations > 0 && throughput_.updates() >= options_.iterations;
  return enough || absl::Now() - begin_ >= options_.seconds;
}

void Journal::Update(std::span<const std::size_t> workers) {
  throughput_.Count(absl::Now(), options_.workload.batch *
                                     static_cast<std::int64_t>(workers.size()));
  for (const std::size_t worker : workers) {
    expected_sum_ += static_cast<double>(PaperGradient(worker));
  }
  Collect(absl::ZeroDuration());
}

bool Journal::WantsWeights() const {
  const bool score = options_.workload.digits && judged_.size() < kJudgedMax &&
                     throughput_.updates() % options_.score_every == 0;
  const bool checkpoint =
      !options_.checkpoint.empty() && absl::Now() >= checkpoint_at_;
  return score || checkpoint;
}

void Journal::Take(const task::ObjectRef<Floats>& weights) {
  if (!options_.checkpoint.empty() && absl::Now() >= checkpoint_at_) {
    const auto value = task::Get(weights, kFinishTimeout);
    // Later weights will do, and the end says what is wrong with the file.
    if (value.ok()) WriteCheckpoint(**value).IgnoreError();
    checkpoint_at_ = absl::Now() + kCheckpointEvery;
  }
  if (!options_.workload.digits) return;
  judged_.push_back({.point = {.time = absl::Now() - begin_,
                               .updates = throughput_.updates(),
                               .samples = throughput_.samples()},
                     .score = task::Remote(Judge, options_.workload, weights)});
}

// Enters the scores that have come, in order.
void Journal::Collect(absl::Duration timeout) {
  while (!judged_.empty()) {
    const auto score = task::Get(judged_.front().score, timeout);
    if (absl::IsDeadlineExceeded(score.status())) return;
    if (score.ok()) {
      CurvePoint point = judged_.front().point;
      point.score = **score;
      curves_.Add(point);
      last_point_ = point;
    }
    judged_.pop_front();
  }
}

absl::Status Journal::WriteCheckpoint(std::span<const float> weights) {
  if (options_.checkpoint.empty()) return absl::OkStatus();
  return apps::WriteCheckpoint(
      options_.checkpoint, updates_before_ + throughput_.updates(), weights);
}

absl::StatusOr<nlohmann::ordered_json> Journal::Finish(
    const task::ObjectRef<Floats>& weights) {
  HOPLITE_ASSIGN_OR_RETURN(const auto value,
                           task::Get(weights, kFinishTimeout));
  HOPLITE_RETURN_IF_ERROR(WriteCheckpoint(*value));
  const WorkloadSpec& workload = options_.workload;
  if (workload.digits) {
    Take(weights);
    Collect(kFinishTimeout);
  } else if (updates_before_ == 0 && rolled_back_ == 0 &&
             expected_sum_ < kExactMax) {
    HOPLITE_RETURN_IF_ERROR(CheckPaperWeights(
        *value, -options_.rate * static_cast<float>(expected_sum_)));
  }
  HOPLITE_RETURN_IF_ERROR(curves_.Finish());
  nlohmann::ordered_json json = {
      {"mode", options_.mode == Mode::kAsync ? "async" : "sync"},
      {"workload", workload.digits ? "digits" : "paper"},
      {"model", options_.model},
      {"workers", options_.workers},
      {"quorum", options_.quorum},
      {"payload_bytes", first_weights_.size() * sizeof(float)},
      {"compute_ms", workload.compute_ms},
      {"updates", updates_before_ + throughput_.updates()},
      {"timed_updates", throughput_.timed_updates()},
      {"seconds", absl::ToDoubleSeconds(throughput_.timed())},
      {"samples_per_s", throughput_.samples_per_second()},
      {"parts_samples_per_s", throughput_.Parts(kParts)},
      {"replaced", replaced_},
      {"rolled_back", rolled_back_}};
  if (last_point_.has_value()) {
    json["loss"] = last_point_->score.loss;
    json["accuracy"] = last_point_->score.accuracy;
  }
  return json;
}

}  // namespace hoplite::apps
