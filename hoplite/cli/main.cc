// `hoplite COMMAND …`: the command line.

#include <iostream>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "hoplite/cli/bench_member.h"
#include "hoplite/cli/chaos_member.h"
#include "hoplite/cli/command_line.h"
#include "hoplite/cli/commands.h"
#include "hoplite/cli/program.h"

namespace hoplite::cli {
namespace {

constexpr absl::string_view kVersion = "0.1.0";

struct Command {
  absl::string_view name;
  int (*run)(int argc, char** argv);
  absl::string_view arguments;
  absl::string_view about;
};

constexpr Command kCommands[] = {
    {"start", StartCommand, "(--head | --join=HOST:PORT)",
     "run a node, in the foreground"},
    {"status", StatusCommand, "", "show nodes, shards, objects, transfers"},
    {"trace", TraceCommand, "-o FILE", "write what tasks have run, and when"},
    {"put", PutCommand, "FILE [--id=ID]", "put a file's bytes"},
    {"get", GetCommand, "ID -o FILE", "wait for an object and write it"},
    {"delete", DeleteCommand, "ID…", "delete objects everywhere"},
    {"reduce", ReduceCommand, "ID… -o FILE", "sum objects, or the like"},
    {"bench", BenchCommand, "OP", "measure a collective on a cluster"},
    {"replay", ReplayCommand, "FILE", "compare a node's recorded log"},
    {"chaos", ChaosCommand, "",
     "kill, stop and cut off nodes, and check what becomes of it"},
};

void PrintUsage(std::ostream& out) {
  out << "Usage: hoplite COMMAND …\n\nCommands:\n";
  for (const Command& command : kCommands) {
    out << "  " << command.name << " " << command.arguments << "\n      "
        << command.about << "\n";
  }
  out << "\n`hoplite COMMAND --help` tells all about one. A client finds its "
         "node by\n--node=SOCKET, else $HOPLITE_NODE, else the only one on "
         "this host.\n\n"
      << ExitCodesHelp() << std::flush;
}

int Main(int argc, char** argv) {
  PrepareProgram();
  const absl::string_view name = argc > 1 ? argv[1] : "";
  if (name == kBenchMemberCommand) return BenchMember().Main();
  if (name == kChaosMemberCommand) return ChaosMember().Main();
  for (const Command& command : kCommands) {
    if (name == command.name) return command.run(argc - 1, argv + 1);
  }
  if (name == "--version" || name == "--help" || name == "-h" ||
      name == "help") {
    if (name == "--version") {
      std::cout << "hoplite " << kVersion << "\n";
    } else {
      PrintUsage(std::cout);
    }
    const absl::Status written = FlushOutput();
    if (!written.ok()) ReportError("hoplite", written, /*json=*/false);
    return ExitCode(written);
  }
  if (!name.empty()) {
    std::cerr << "hoplite: there is no command \"" << name << "\"\n\n";
  }
  PrintUsage(std::cerr);
  return kExitUsage;
}

}  // namespace
}  // namespace hoplite::cli

int main(int argc, char** argv) { return hoplite::cli::Main(argc, argv); }
