// Runs the simulator for one seed after another.
//
//   ./bazelw run //tests/simulation:swarm -- --seeds=200 --first-seed=1
//
// A seed that fails prints what the checkers say, the end of its trace and the
// command that runs it again; with --minimise also the few faults and
// operations without which it does not fail. Each seed has a process of its
// own: where a CHECK of the core ends one, the others go on. Exit code 1 where
// any has failed.

#include "hoplite/sim/swarm.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cxxopts.hpp>
#include <functional>
#include <iostream>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "hoplite/sim/swarm_minimiser.h"

namespace hoplite::sim {
namespace {

struct Flags {
  std::uint64_t seeds = 200;
  std::uint64_t first_seed = 1;
  bool trace = false;
  bool trace_hash = false;
  bool verbose = false;
  bool minimise = false;
  std::vector<std::size_t> without_faults;
  std::vector<std::size_t> without_operations;
};

// Runs `passes` in a process of its own, and tells what it returns; false
// where the process does not live so long.
bool RunApart(const std::function<bool()>& passes) {
  std::cout.flush();
  const pid_t child = ::fork();
  if (child < 0) return passes();
  if (child == 0) {
    const bool passed = passes();
    std::cout.flush();
    ::_exit(passed ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  if (WIFSIGNALED(status)) {
    std::cout << "the run was ended by signal " << WTERMSIG(status) << "\n";
  }
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

void PrintFailure(const SwarmResult& result) {
  std::cout << "--- the last lines of the trace\n";
  for (const std::string& line : result.last_lines) std::cout << line << "\n";
  std::cout << "--- violations\n";
  for (const Violation& each : result.violations) {
    std::cout << absl::StrFormat(
        "%s at %.9fs: %s\n", each.checker,
        absl::ToDoubleSeconds(each.time - absl::UnixEpoch()), each.what);
  }
}

// True where the run passes.
bool RunOnce(const Flags& flags, const SwarmOptions& options) {
  Trace::LineSink sink;
  if (flags.trace) {
    sink = [](absl::string_view line) { std::cout << line << std::endl; };
  }
  const SwarmResult result = RunSwarm(options, sink);
  if (flags.trace_hash) {
    std::cout << absl::StrFormat("seed %d trace %016x\n", options.seed,
                                 result.trace_hash);
  }
  if (result.violations.empty()) return true;
  PrintFailure(result);
  return false;
}

void PrintMinimised(const SwarmOptions& options) {
  const SwarmOptions less = Minimise(options, [](const SwarmOptions& each) {
    return !RunApart([&] { return RunSwarm(each).violations.empty(); });
  });
  std::cout << "--- it fails with as little as this\n"
            << DescribeRest(less) << "--- " << ReplayCommand(less) << "\n";
}

// True where the seed passes.
bool RunSeed(const Flags& flags, std::uint64_t seed) {
  SwarmOptions options = DrawSwarmOptions(seed);
  options.without_faults = {flags.without_faults.begin(),
                            flags.without_faults.end()};
  options.without_operations = {flags.without_operations.begin(),
                                flags.without_operations.end()};
  if (flags.verbose || flags.seeds == 1) {
    std::cout << Describe(options) << std::endl;
  }
  if (RunApart([&] { return RunOnce(flags, options); })) return true;
  std::cout << Describe(options)
            << "\n--- once more: " << ReplayCommand(options) << "\n";
  if (flags.minimise) PrintMinimised(options);
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
          cxxopts::value(flags.verbose))(
          "minimise", "print with how little a seed that fails still does",
          cxxopts::value(flags.minimise))("without-faults",
                                          "faults that are left out, by number",
                                          cxxopts::value(flags.without_faults))(
          "without-operations", "operations that are left out, by number",
          cxxopts::value(flags.without_operations))("help", "this text");
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
