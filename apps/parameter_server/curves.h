// The curves of loss and accuracy against time, as a CSV file.
//
// Thread safety: none; one thread at a time.

#ifndef HOPLITE_APPS_PARAMETER_SERVER_CURVES_H_
#define HOPLITE_APPS_PARAMETER_SERVER_CURVES_H_

#include <cstdint>
#include <fstream>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "apps/parameter_server/score.h"

namespace hoplite::apps {

struct CurvePoint {
  absl::Duration time;  // since learning began
  int updates = 0;
  std::int64_t samples = 0;
  Score score;
};

// Without the end of the line.
std::string CurveHeader();
std::string CurveLine(const CurvePoint& point);

class Curves {
 public:
  // Begins a new file. An empty path is none.
  // Errors: kFailedPrecondition: it cannot be written.
  absl::Status Open(const std::string& path);
  // Is in the file at once.
  void Add(const CurvePoint& point);
  // Errors: kFailedPrecondition: a point could not be written.
  absl::Status Finish();

 private:
  std::string path_;
  std::ofstream file_;
};

}  // namespace hoplite::apps

#endif  // HOPLITE_APPS_PARAMETER_SERVER_CURVES_H_
