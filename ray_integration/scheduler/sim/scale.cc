// Runs one simulation of many nodes and tasks, with faults, and says what came
// of it. Options: --nodes=, --tasks=, --seed=; --thorough checks everything
// after every event; --swarm draws a small cluster from the seed instead;
// --trace prints every line.
//
//   ./bazelw run -c opt //ray_integration/scheduler/sim:scale -- --nodes=1000

#include <cstdint>
#include <cstdio>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "hoplite/sim/violations.h"
#include "ray_integration/scheduler/sim/options.h"
#include "ray_integration/scheduler/sim/simulation.h"
#include "ray_integration/scheduler/sim/trace.h"

namespace hoplite::task::sim {
namespace {

struct Flags {
  std::uint32_t nodes = 1000;
  std::uint64_t tasks = 1'000'000;
  std::uint64_t seed = 1;
  bool thorough = false;
  bool swarm = false;
  bool trace = false;
};

bool Parse(absl::string_view argument, Flags& flags) {
  if (absl::ConsumePrefix(&argument, "--nodes=")) {
    return absl::SimpleAtoi(argument, &flags.nodes) && flags.nodes > 0;
  }
  if (absl::ConsumePrefix(&argument, "--tasks=")) {
    return absl::SimpleAtoi(argument, &flags.tasks);
  }
  if (absl::ConsumePrefix(&argument, "--seed=")) {
    return absl::SimpleAtoi(argument, &flags.seed);
  }
  if (argument == "--thorough") return flags.thorough = true;
  if (argument == "--swarm") return flags.swarm = true;
  if (argument == "--trace") return flags.trace = true;
  return false;
}

void Print(absl::string_view line) {
  std::printf("%s\n", std::string(line).c_str());
}

int Run(const Flags& flags) {
  SimulationOptions options =
      flags.swarm ? DrawOptions(flags.seed)
                  : ScaleOptions(flags.nodes, flags.tasks, flags.seed);
  options.thorough |= flags.thorough || flags.trace;
  Print(Describe(options));
  const SimulationResult result =
      Simulation(options, flags.trace ? Print : Trace::LineSink()).Run();
  for (const hoplite::sim::Violation& each : result.violations) {
    Print(absl::StrFormat("%s at %.6f: %s", each.checker,
                          absl::ToDoubleSeconds(each.time - absl::UnixEpoch()),
                          each.what));
  }
  Print(absl::StrFormat(
      "%d tasks done, %d failed, %d cancelled, %d retries; %d events, %d "
      "grants, %d forwards; %.3f s of virtual time; trace %016x; %d violations",
      result.done, result.failed, result.cancelled, result.retries,
      result.events, result.grants, result.forwards,
      absl::ToDoubleSeconds(result.virtual_time), result.trace_hash,
      result.violations.size()));
  return result.violations.empty() ? 0 : 1;
}

}  // namespace
}  // namespace hoplite::task::sim

int main(int argc, char** argv) {
  hoplite::task::sim::Flags flags;
  for (int i = 1; i < argc; ++i) {
    if (!hoplite::task::sim::Parse(argv[i], flags)) {
      std::fprintf(stderr, "unknown or wrong: %s\n", argv[i]);
      return 2;
    }
  }
  return hoplite::task::sim::Run(flags);
}
