// What the program is asked to do, from its command line.
//
// Thread safety: values; as safe as int.

#ifndef HOPLITE_APPS_PARAMETER_SERVER_OPTIONS_H_
#define HOPLITE_APPS_PARAMETER_SERVER_OPTIONS_H_

#include <cstddef>
#include <cstdint>
#include <cxxopts.hpp>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "apps/parameter_server/workload.h"

namespace hoplite::apps {

enum class Mode { kAsync, kSync };

struct Options {
  Mode mode = Mode::kAsync;
  WorkloadSpec workload;
  std::string model;  // of the paper's workload
  std::size_t workers = 7;
  std::size_t quorum = 3;  // gradients of an update, unless synchronous
  float rate = 0.1f;       // the sum of gradients, times this, is a step
  int iterations = 0;      // updates, warm-up included; 0: no end but time's
  absl::Duration seconds = absl::InfiniteDuration();
  int warm_up = 0;  // updates that are not timed
  // Where workers run, in turn; empty: the runtime decides.
  std::vector<std::string> hosts;
  std::string server_host;
  std::string curves;
  std::string checkpoint;
  int score_every = 10;  // updates

  // The host of a worker that has failed so often in a row.
  std::string HostOf(std::size_t worker, std::size_t failures) const;
};

void AddOptions(cxxopts::Options& options);
// Errors: a usage error, naming the option.
absl::StatusOr<Options> OptionsOf(const cxxopts::ParseResult& parsed);

}  // namespace hoplite::apps

#endif  // HOPLITE_APPS_PARAMETER_SERVER_OPTIONS_H_
