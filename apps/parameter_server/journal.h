// The bookkeeping of learning: how far it is, how fast, how good; and what is
// kept in files. The programs of async.cc and sync.cc only learn.
//
// Held-out digits are judged by tasks, in the background.
//
// Thread safety: none; one thread at a time.

#ifndef HOPLITE_APPS_PARAMETER_SERVER_JOURNAL_H_
#define HOPLITE_APPS_PARAMETER_SERVER_JOURNAL_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "apps/parameter_server/curves.h"
#include "apps/parameter_server/options.h"
#include "apps/parameter_server/score.h"
#include "apps/parameter_server/throughput.h"
#include "apps/parameter_server/workload.h"
#include "ray_integration/api/task.h"

namespace hoplite::apps {

class Journal {
 public:
  // Errors: of the files that `options` name.
  static absl::StatusOr<std::unique_ptr<Journal>> Create(
      const Options& options);

  // Those of the checkpoint, where there is one.
  const Floats& first_weights() const { return first_weights_; }
  // As many updates were made, or as much time is over, as was asked for.
  bool Done() const;

  // An update was made, of one gradient of each of these workers.
  void Update(std::span<const std::size_t> workers);
  // A worker that had failed was made again.
  void Replaced() { ++replaced_; }
  // The newest weights are lost, with the updates that only they had.
  void RolledBack() { ++rolled_back_; }
  // Take wants the newest weights now, as far as it is known that they exist.
  bool WantsWeights() const;
  void Take(const task::ObjectRef<Floats>& weights);

  // Learning has ended with these weights. Waits for them, checks or judges
  // them, and says how it went: see README.md.
  // Errors: of the weights; kDataLoss: they are wrong; of the files.
  absl::StatusOr<nlohmann::ordered_json> Finish(
      const task::ObjectRef<Floats>& weights);

 private:
  struct Judged {
    CurvePoint point;  // without its score
    task::ObjectRef<Score> score;
  };

  explicit Journal(const Options& options);

  void Collect(absl::Duration timeout);
  absl::Status WriteCheckpoint(std::span<const float> weights);

  const Options options_;
  const absl::Time begin_;
  Throughput throughput_;
  Floats first_weights_;
  std::int64_t updates_before_ = 0;  // those of the checkpoint
  double expected_sum_ = 0;          // of the paper's gradients, so far
  int replaced_ = 0;
  int rolled_back_ = 0;
  Curves curves_;
  std::deque<Judged> judged_;
  std::optional<CurvePoint> last_point_;
  absl::Time checkpoint_at_;
};

}  // namespace hoplite::apps

#endif  // HOPLITE_APPS_PARAMETER_SERVER_JOURNAL_H_
