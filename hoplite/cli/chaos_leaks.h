// What is left in a cluster when everything was deleted and is over.
//
// Thread safety: none; one thread at a time.
// Units: bytes.

#ifndef HOPLITE_CLI_CHAOS_LEAKS_H_
#define HOPLITE_CLI_CHAOS_LEAKS_H_

#include <sys/types.h>

#include <string>
#include <vector>

#include "absl/time/time.h"
#include "hoplite/cli/chaos_cluster.h"
#include "hoplite/cli/chaos_result.h"

namespace hoplite::cli {

// REQUIRES: all hosts are up.
ChaosUsage UsageOf(const ChaosCluster& cluster);

// A line for each thing that should be gone and is there still `patience` from
// now: objects, memory of stores, records of the directory, whatever waits;
// open files and private memory beyond those of `idle` and a margin; files of
// nodes that are gone. REQUIRES: all hosts are up.
std::vector<std::string> FindLeaks(ChaosCluster& cluster,
                                   const ChaosUsage& idle,
                                   absl::Duration patience);

}  // namespace hoplite::cli

#endif  // HOPLITE_CLI_CHAOS_LEAKS_H_
