// Runs the simulator for one seed after another.
//
//   ./bazelw run //tests/simulation:swarm -- --seeds=200 --first-seed=1
//
// A seed that fails prints what the checkers say, the end of its trace and the
// command that runs it again. Exit code 1 where any has failed.

#include "hoplite/sim/swarm.h"

#include <cstdint>
#include <cxxopts.hpp>
#include <iostream>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace hoplite::sim {
namespace {

struct Flags {
  std::uint64_t seeds = 200;
  std::uint64_t first_seed = 1;
  bool trace = false;
  bool trace_hash = false;
  bool verbose = false;
};

void PrintFailure(const SwarmResult& result, std::uint64_t seed) {
  std::cout << "--- the last lines of the trace\n";
  for (const std::string& line : result.last_lines) std::cout << line << "\n";
  std::cout << "--- violations\n";
  for (const Violation& each : result.violations) {
    std::cout << absl::StrFormat(
        "%s at %.9fs: %s\n", each.checker,
        absl::ToDoubleSeconds(each.time - absl::UnixEpoch()), each.what);
  }
  std::cout << "--- once more: " << ReplayCommand(seed) << "\n";
}

// True where the seed passes.
bool RunSeed(const Flags& flags, std::uint64_t seed) {
  const SwarmOptions options = DrawSwarmOptions(seed);
  if (flags.verbose || flags.seeds == 1) {
    std::cout << Describe(options) << std::endl;
  }
  Trace::LineSink sink;
  if (flags.trace) {
    sink = [](absl::string_view line) { std::cout << line << "\n"; };
  }
  const SwarmResult result = RunSwarm(options, sink);
  if (flags.trace_hash) {
    std::cout << absl::StrFormat("seed %d trace %016x\n", seed,
                                 result.trace_hash);
  }
  if (result.violations.empty()) return true;
  std::cout << Describe(options) << "\n";
  PrintFailure(result, seed);
  return false;
}

int Main(const Flags& flags) {
  std::uint64_t failed = 0;
  for (std::uint64_t i = 0; i < flags.seeds; ++i) {
    if (!RunSeed(flags, flags.first_seed + i)) ++failed;
  }
  std::cout << absl::StrFormat("%d seeds from %d: %d passed, %d failed\n",
                               flags.seeds, flags.first_seed,
                               flags.seeds - failed, failed);
  return failed == 0 ? 0 : 1;
}

}  // namespace
}  // namespace hoplite::sim

int main(int argc, char** argv) {
  hoplite::sim::Flags flags;
  cxxopts::Options options(
      "swarm", "Runs the protocol in virtual time, a run for each seed.");
  options.add_options()  //
      ("seeds", "how many seeds", cxxopts::value(flags.seeds))(
          "first-seed", "the first of them", cxxopts::value(flags.first_seed))(
          "trace", "print every line of the trace",
          cxxopts::value(flags.trace))("trace-hash",
                                       "print the hash of each trace",
                                       cxxopts::value(flags.trace_hash))(
          "verbose", "print the options of each seed",
          cxxopts::value(flags.verbose))("help", "this text");
  try {
    const cxxopts::ParseResult parsed = options.parse(argc, argv);
    if (parsed.count("help") > 0) {
      std::cout << options.help();
      return 0;
    }
  } catch (const cxxopts::exceptions::exception& error) {
    std::cerr << error.what() << "; --help lists the options\n";
    return 2;
  }
  return hoplite::sim::Main(flags);
}
