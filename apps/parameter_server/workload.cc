#include "apps/parameter_server/workload.h"

#include <algorithm>

#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "apps/parameter_server/digits.h"
#include "apps/parameter_server/perceptron.h"
#include "hoplite/base/mutex.h"
#include "hoplite/base/random.h"

namespace hoplite::apps {
namespace {

// Its weights are above 64 KiB: they take the way of large objects.
constexpr int kHiddenUnits = 256;
// All begin alike, wherever they are.
constexpr std::uint64_t kFirstWeightsSeed = 1;
// Whole numbers up to 2^24 are exact as 32-bit floats: the smaller those of
// the workers, the more updates can be checked.
constexpr std::size_t kPaperGradients = 8;

const Perceptron& DigitsPerceptron() {
  static const Perceptron perceptron(
      {kDigitPixels, kHiddenUnits, kDigitClasses});
  return perceptron;
}

// Holds no processor meanwhile.
void WaitUntil(absl::Time when) {
  Mutex mutex;
  CondVar never;
  MutexLock lock(mutex);
  while (absl::Now() < when) never.WaitUntil(mutex, when);
}

class DigitsWorkload : public Workload {
 public:
  DigitsWorkload(const WorkloadSpec& spec, std::uint64_t seed)
      : batch_(static_cast<std::size_t>(spec.batch)), random_(seed) {}

  Floats FirstWeights() const override {
    return DigitsPerceptron().FirstWeights(Random(kFirstWeightsSeed));
  }
  Floats Gradient(std::span<const float> weights) override {
    Examples batch = DrawBatch(HandwrittenDigits().learned, batch_, random_);
    ShiftSome(batch, random_);
    return DigitsPerceptron().Gradient(weights, batch);
  }

 private:
  const std::size_t batch_;
  Random random_;
};

class PaperWorkload : public Workload {
 public:
  PaperWorkload(const WorkloadSpec& spec, int worker)
      : spec_(spec), value_(PaperGradient(static_cast<std::size_t>(worker))) {}

  Floats FirstWeights() const override {
    return Floats(static_cast<std::size_t>(spec_.elements), 0.0f);
  }
  Floats Gradient(std::span<const float> weights) override {
    const absl::Time end =
        absl::Now() + absl::Milliseconds(1) * spec_.compute_ms;
    // Part of the time, as a copy from a graphics processor is.
    Floats gradient(weights.size(), value_);
    WaitUntil(end);
    return gradient;
  }

 private:
  const WorkloadSpec spec_;
  const float value_;
};

}  // namespace

std::unique_ptr<Workload> Workload::Make(const WorkloadSpec& spec, int worker,
                                         std::uint64_t seed) {
  if (spec.digits) return std::make_unique<DigitsWorkload>(spec, seed);
  return std::make_unique<PaperWorkload>(spec, worker);
}

Score Evaluate(const WorkloadSpec& spec, std::span<const float> weights) {
  if (!spec.digits) return {};
  return DigitsPerceptron().Evaluate(weights, HandwrittenDigits().held_out);
}

float PaperGradient(std::size_t worker) {
  return static_cast<float>(1 + worker % kPaperGradients);
}

absl::Status CheckPaperWeights(std::span<const float> weights, float expected) {
  const auto wrong = std::ranges::find_if(
      weights, [expected](float weight) { return weight != expected; });
  if (wrong == weights.end()) return absl::OkStatus();
  return absl::DataLossError(absl::StrFormat(
      "weight %d is %g and not %g: a gradient went in twice, or not at all",
      wrong - weights.begin(), *wrong, expected));
}

}  // namespace hoplite::apps
