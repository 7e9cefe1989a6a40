#include "apps/parameter_server/curves.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace hoplite::apps {

std::string CurveHeader() { return "seconds,updates,samples,loss,accuracy"; }

std::string CurveLine(const CurvePoint& point) {
  return absl::StrFormat("%.3f,%d,%d,%.5f,%.5f",
                         absl::ToDoubleSeconds(point.time), point.updates,
                         point.samples, point.score.loss, point.score.accuracy);
}

absl::Status Curves::Open(const std::string& path) {
  if (path.empty()) return absl::OkStatus();
  path_ = path;
  file_.open(path);
  file_ << CurveHeader() << std::endl;
  return Finish();
}

void Curves::Add(const CurvePoint& point) {
  if (file_.is_open()) file_ << CurveLine(point) << std::endl;
}

absl::Status Curves::Finish() {
  if (path_.empty() || file_.good()) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat("cannot write ", path_));
}

}  // namespace hoplite::apps
