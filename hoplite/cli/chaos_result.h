// What chaos has found.
//
// Thread safety: values; as safe as int.
// Units: milliseconds, bytes.

#ifndef HOPLITE_CLI_CHAOS_RESULT_H_
#define HOPLITE_CLI_CHAOS_RESULT_H_

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "hoplite/cli/chaos_options.h"

namespace hoplite::cli {

// What one node's process has; of several, the most that one of them has.
struct ChaosUsage {
  std::uint64_t sockets = 0;
  std::uint64_t other_files = 0;
  std::uint64_t private_bytes = 0;
};

struct ChaosResult {
  // By kind of those that were drawn; each time from the fault until the
  // operation in hand was done. An operation of which nobody was left has none.
  struct Fault {
    std::uint64_t count = 0;
    std::vector<double> until_done_ms;
  };

  ChaosOptions options;
  std::map<ChaosFault, Fault> faults;
  // Whole operations that no fault was near.
  std::vector<double> undisturbed_ms;
  std::uint64_t operations = 0;               // that are done
  std::uint64_t abandoned = 0;                // of them: nobody was left
  std::map<std::string, std::uint64_t> ends;  // of all calls, by status
  // Nodes that no fault had hit, and that lost their life nevertheless.
  std::uint64_t lost_lives = 0;
  std::uint64_t hangs = 0;
  std::uint64_t wrong_bytes = 0;
  std::uint64_t wrong_ends = 0;  // calls that ended with a status out of place
  std::vector<std::string> leaks;
  ChaosUsage at_first;  // when the cluster was idle, before the first fault
  ChaosUsage at_last;   // and after the last one
  std::vector<std::string> complaints;  // the first of each of the last four

  bool good() const {
    return hangs == 0 && wrong_bytes == 0 && wrong_ends == 0 && leaks.empty();
  }
};

// The value that `percent` of them do not exceed; 0 of none.
double Percentile(std::vector<double> values, double percent);

// One object, or a table for people.
nlohmann::ordered_json ToJson(const ChaosResult& result);
std::string ChaosText(const ChaosResult& result);

}  // namespace hoplite::cli

#endif  // HOPLITE_CLI_CHAOS_RESULT_H_
