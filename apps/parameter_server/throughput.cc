#include "apps/parameter_server/throughput.h"

#include <algorithm>

namespace hoplite::apps {
namespace {

double Rate(std::int64_t samples, absl::Duration time) {
  const double seconds = absl::ToDoubleSeconds(time);
  return seconds > 0 ? static_cast<double>(samples) / seconds : 0;
}

}  // namespace

Throughput::Throughput(absl::Time begin, int warm_up)
    : warm_up_(warm_up), begin_(begin) {}

void Throughput::Count(absl::Time now, std::int64_t samples) {
  ++updates_;
  samples_ += samples;
  if (updates_ <= warm_up_) {
    begin_ = now;
  } else {
    timed_.push_back({now, samples});
  }
}

absl::Duration Throughput::timed() const {
  return timed_.empty() ? absl::ZeroDuration() : timed_.back().when - begin_;
}

double Throughput::samples_per_second() const {
  std::int64_t samples = 0;
  for (const Update& update : timed_) samples += update.samples;
  return Rate(samples, timed());
}

std::vector<double> Throughput::Parts(std::size_t parts) const {
  std::vector<double> rates;
  if (timed_.empty()) return rates;
  const std::size_t count = std::min(parts, timed_.size());
  const std::size_t length = timed_.size() / count;
  absl::Time begin = begin_;
  for (std::size_t part = 0; part < count; ++part) {
    std::int64_t samples = 0;
    for (std::size_t i = part * length; i < (part + 1) * length; ++i) {
      samples += timed_[i].samples;
    }
    const absl::Time end = timed_[(part + 1) * length - 1].when;
    rates.push_back(Rate(samples, end - begin));
    begin = end;
  }
  return rates;
}

}  // namespace hoplite::apps
