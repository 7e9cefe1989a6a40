#include "ray_integration/scheduler/load_publisher.h"

#include "ray_integration/scheduler/resources.h"

namespace hoplite::task {
namespace {

using scheduler_command::PublishLoad;

enum class Fill { kEmpty, kPartly, kFull };

Fill FillOf(const PublishLoad& load) {
  if (load.free == load.total && load.queued == 0) return Fill::kEmpty;
  const bool had = load.total.milli(kCpu) > 0;
  return had && load.free.milli(kCpu) <= 0 ? Fill::kFull : Fill::kPartly;
}

}  // namespace

bool LoadPublisher::Due(absl::Time now, const PublishLoad& load) {
  next_.reset();
  if (published_) {
    if (published_->free == load.free && published_->total == load.total &&
        published_->queued == load.queued) {
      return false;
    }
    const bool urgent = FillOf(*published_) != FillOf(load);
    const absl::Time due = published_at_ + (urgent ? interval_min_ : interval_);
    if (now < due) {
      next_ = due;
      return false;
    }
  }
  published_ = load;
  published_at_ = now;
  return true;
}

}  // namespace hoplite::task
