// Where the programs are that an experiment starts: among its own runfiles.
//
// Thread safety: once, before the working directory is changed.

#ifndef HOPLITE_EXPERIMENTS_PROGRAMS_H_
#define HOPLITE_EXPERIMENTS_PROGRAMS_H_

#include <string>

#include "absl/status/statusor.h"

namespace hoplite::experiments {

struct Programs {
  std::string node;              // //:hoplite
  std::string parameter_server;  // //apps/parameter_server
};

// Absolute paths. Errors: kNotFound: started otherwise than by Bazel.
absl::StatusOr<Programs> FindPrograms(const std::string& own_path);

}  // namespace hoplite::experiments

#endif  // HOPLITE_EXPERIMENTS_PROGRAMS_H_
