// The first command: eight nodes on emulated links, six things that Hoplite is
// for, each with Hoplite's schedules and without, and a table.
//
//   ./bazelw run //:quickstart [-- --file=F]

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cxxopts.hpp>
#include <iostream>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "hoplite/base/digest.h"
#include "hoplite/base/status_macros.h"
#include "hoplite/cli/bench.h"
#include "hoplite/cli/bench_member.h"
#include "hoplite/cli/bench_options.h"
#include "hoplite/cli/bench_row.h"
#include "hoplite/cli/command_line.h"
#include "hoplite/cli/files.h"
#include "hoplite/cli/mapped_memory.h"
#include "hoplite/cli/program.h"
#include "hoplite/cli/temporary_folder.h"
#include "hoplite/cli/undo_at_signal.h"

namespace hoplite::cli {
namespace {

constexpr int kNodes = 8;
constexpr std::uint64_t kLinkBitsPerSecond = 200'000'000;
constexpr std::uint64_t kObjectBytes = 4 << 20;
constexpr std::uint64_t kOwnFileBytes = 6 << 20;
constexpr absl::Duration kArrivalGap = absl::Milliseconds(100);

struct Part {
  Operation operation;
  bool arrive;
  absl::string_view name;
  absl::string_view what;   // is done
  absl::string_view shows;  // one sentence
};

constexpr Part kParts[] = {
    {Operation::kBroadcast, false, "broadcast", "one node's file to all others",
     "Whoever has a part of the file passes it on: a link carries it once."},
    {Operation::kGather, false, "gather", "an object of each other to one node",
     "All enters by one link: no schedule can help, and Hoplite's costs "
     "nothing."},
    {Operation::kReduce, false, "reduce", "the sum of all objects to one node",
     "Partial sums go along a chain: a link carries one object."},
    {Operation::kAllreduce, false, "allreduce", "the sum of all to everybody",
     "The sum is passed on while it is still being made."},
    {Operation::kBroadcast, true, "late broadcast",
     "the same, the nodes arriving 0.1 s apart",
     "The last one is served by those before it and waits for one transfer."},
    {Operation::kReduce, true, "late reduce",
     "the same, the nodes arriving 0.1 s apart",
     "The others are summed up already: only the last object has to travel."},
};

struct Result {
  BenchRow hoplite;
  BenchRow plain;
};

void Say(absl::string_view text) { std::cout << text << std::flush; }

std::string Seconds(double milliseconds) {
  if (milliseconds < 100) return absl::StrFormat("%.1f ms", milliseconds);
  return absl::StrFormat("%.2f s", milliseconds / 1e3);
}

absl::StatusOr<MappedMemory> MapFile(const std::string& path) {
  HOPLITE_ASSIGN_OR_RETURN(const Descriptor file, OpenForReading(path));
  if (!RegularFileSize(file.number()).has_value()) {
    return absl::FailedPreconditionError(
        absl::StrCat(path, " is no regular file"));
  }
  return MappedMemory::OfFile(file.number());
}

class Quickstart {
 public:
  // `file` is what is broadcast.
  static absl::StatusOr<Quickstart> Create(const std::string& file) {
    BenchOptions options;
    options.nodes = kNodes;
    options.link_bits_per_second = kLinkBitsPerSecond;
    options.runs = 1;
    HOPLITE_ASSIGN_OR_RETURN(const MappedMemory mapped, MapFile(file));
    Quickstart quickstart(options, file, mapped.bytes());
    HOPLITE_ASSIGN_OR_RETURN(quickstart.bench_, Bench::Create(options));
    return quickstart;
  }

  absl::Status Run();
  void PrintTable() const;

 private:
  Quickstart(const BenchOptions& options, std::string file,
             std::span<const std::byte> content)
      : options_(options),
        file_(std::move(file)),
        file_bytes_(content.size()),
        file_sha256_(Sha256Hex(content)) {}

  absl::StatusOr<BenchRow> Measure(const Part& part, Schedule schedule);

  BenchOptions options_;
  std::string file_;
  std::uint64_t file_bytes_;
  std::string file_sha256_;
  std::unique_ptr<Bench> bench_;
  std::vector<Result> results_;
};

absl::StatusOr<BenchRow> Quickstart::Measure(const Part& part,
                                             Schedule schedule) {
  BenchOptions options = options_;
  options.operation = part.operation;
  options.schedule = schedule;
  if (part.arrive) options.arrive = kArrivalGap;
  const bool sends_file = part.operation == Operation::kBroadcast;
  if (sends_file) options.file = file_;
  const BenchRow row =
      bench_->RunRow(options, sends_file ? file_bytes_ : kObjectBytes);
  if (!row.error.empty()) {
    return absl::InternalError(absl::StrCat(part.name, ": ", row.error));
  }
  if (row.wrong_bytes > 0) {
    return absl::DataLossError(
        absl::StrCat(part.name, ": ", row.wrong_bytes, " bytes arrived wrong"));
  }
  return row;
}

absl::Status Quickstart::Run() {
  Say(absl::StrFormat(
      "%d nodes, each on an emulated host of its own with a link of %d "
      "Mbit/s.\nThe file: %s, %.1f MiB\n  SHA-256 %s\nThe other objects have "
      "%d MiB each. Each part runs with Hoplite's schedules and\nplainly, "
      "where whoever wants an object pulls it from a complete copy.\n\n",
      kNodes, kLinkBitsPerSecond / 1'000'000, file_,
      static_cast<double>(file_bytes_) / (1 << 20), file_sha256_,
      kObjectBytes >> 20));
  int number = 0;
  for (const Part& part : kParts) {
    Say(absl::StrFormat("[%d/6] %-14s  %s\n", ++number, part.name, part.what));
    Say("      with Hoplite … ");
    HOPLITE_ASSIGN_OR_RETURN(BenchRow hoplite,
                             Measure(part, Schedule::kHoplite));
    Say(absl::StrCat(Seconds(hoplite.median_ms), ", plainly … "));
    HOPLITE_ASSIGN_OR_RETURN(BenchRow plain, Measure(part, Schedule::kPlain));
    Say(absl::StrCat(Seconds(plain.median_ms),
                     part.operation == Operation::kBroadcast
                         ? "; SHA-256 right on all 8 nodes\n"
                         : "; all bytes right\n"));
    results_.push_back(
        {.hoplite = std::move(hoplite), .plain = std::move(plain)});
  }
  return absl::OkStatus();
}

void Quickstart::PrintTable() const {
  Say(absl::StrFormat("\n%-15s %12s %10s %9s %12s\n", "", "with Hoplite",
                      "plain", "speed-up", "lower bound"));
  for (std::size_t i = 0; i < results_.size(); ++i) {
    const auto& [hoplite, plain] = results_[i];
    Say(absl::StrFormat("%-15s %12s %10s %8.1fx %12s\n    %s\n", kParts[i].name,
                        Seconds(hoplite.median_ms), Seconds(plain.median_ms),
                        plain.median_ms / hoplite.median_ms,
                        Seconds(hoplite.bound_ms), kParts[i].shows));
  }
  Say(absl::StrFormat(
      "\nThe lower bound is what the links allow at %.0f Mbit/s, which one "
      "plain TCP\nstream reached here. Late ones count from the last "
      "arrival.\n",
      results_.front().hoplite.payload_mbit));
}

// Some megabytes of this program's own.
absl::StatusOr<std::string> MakeOwnFile(const TemporaryFolder& folder) {
  HOPLITE_ASSIGN_OR_RETURN(const MappedMemory program,
                           MapFile("/proc/self/exe"));
  const std::span<const std::byte> all = program.bytes();
  const std::string path = absl::StrCat(folder.path(), "/quickstart.part");
  HOPLITE_RETURN_IF_ERROR(WriteFile(
      path, all.first(std::min<std::uint64_t>(all.size(), kOwnFileBytes))));
  return path;
}

absl::Status Show(const cxxopts::ParseResult& parsed) {
  UndoAtSignal::Watch();
  HOPLITE_RETURN_IF_ERROR(Positionals(parsed, 0, 0, "").status());
  HOPLITE_ASSIGN_OR_RETURN(const std::unique_ptr<TemporaryFolder> folder,
                           TemporaryFolder::Create());
  std::string file = TextOf(parsed, "file");
  if (file.empty()) {
    HOPLITE_ASSIGN_OR_RETURN(file, MakeOwnFile(*folder));
  }
  auto quickstart = Quickstart::Create(file);
  if (absl::IsPermissionDenied(quickstart.status())) {
    return absl::PermissionDeniedError(absl::StrCat(
        "it needs emulated hosts, and ", quickstart.status().message(),
        "\nWithout them, on loopback: ./bazelw run //:hoplite -- bench "
        "broadcast"));
  }
  HOPLITE_RETURN_IF_ERROR(quickstart.status());
  HOPLITE_RETURN_IF_ERROR(quickstart->Run());
  quickstart->PrintTable();
  return absl::OkStatus();
}

int Main(int argc, char** argv) {
  PrepareProgram();
  if (argc > 1 && argv[1] == absl::string_view(kBenchMemberCommand)) {
    return BenchMember().Main();
  }
  cxxopts::Options options(
      "quickstart",
      "Shows what Hoplite is for: eight nodes on emulated links, six "
      "collectives, each\nwith Hoplite's schedules and without, in under a "
      "minute.");
  options.custom_help("[--file=F]");
  options.add_options()("file", "What is broadcast (default: its own program)",
                        cxxopts::value<std::string>(), "F");
  return RunCommand(options, argc, argv, Show);
}

}  // namespace
}  // namespace hoplite::cli

int main(int argc, char** argv) { return hoplite::cli::Main(argc, argv); }
