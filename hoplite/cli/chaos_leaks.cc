#include "hoplite/cli/chaos_leaks.h"

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <system_error>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "hoplite/cli/process_memory.h"

namespace hoplite::cli {
namespace {

// For each other node: connections that rest for half a minute, and those
// which were made anew while the earlier one still ends.
constexpr std::uint64_t kSocketsPerNode = 2;
// Threads and buffers that a node makes when it first needs them.
constexpr std::uint64_t kFilesMargin = 8;
// What the allocator keeps of the last operations, and 4,096 tombstones.
constexpr std::uint64_t kPrivateMargin = 64 << 20;
constexpr absl::Duration kPollPause = absl::Milliseconds(500);
constexpr absl::Duration kAnswerTimeout = absl::Seconds(5);

ChaosUsage UsageOf(pid_t process) {
  ChaosUsage usage{.private_bytes = PrivateBytes(process)};
  std::error_code gone;
  for (const auto& entry : std::filesystem::directory_iterator(
           absl::StrCat("/proc/", process, "/fd"), gone)) {
    std::error_code closed;
    const std::string target =
        std::filesystem::read_symlink(entry.path(), closed).string();
    if (closed) continue;
    ++(absl::StartsWith(target, "socket:") ? usage.sockets : usage.other_files);
  }
  return usage;
}

void AddReportLeaks(const NodeReport& report, std::vector<std::string>& leaks) {
  const NodeStatus& status = report.status;
  const auto add = [&](std::uint64_t count, absl::string_view what) {
    if (count == 0) return;
    leaks.push_back(absl::StrCat("node ", status.self.node.value(), " at ",
                                 report.control_address, ": ", count, " ",
                                 what));
  };
  add(status.objects.size(), "objects");
  add(status.directory_records, "directory entries");
  add(status.requests_waiting, "requests that wait");
  add(status.transfers_under_way, "transfers");
  add(status.reductions_under_way, "reductions");
  add(status.buffers_held, "buffers held");
  add(report.counters.store_buffers, "buffers in the store");
  add(report.counters.store_bytes_used, "bytes in the store");
}

void AddProcessLeaks(const ChaosCluster& cluster, const ChaosUsage& idle,
                     std::vector<std::string>& leaks) {
  const auto nodes = static_cast<std::uint64_t>(cluster.size());
  for (int host = 0; host < cluster.size(); ++host) {
    const ChaosUsage usage = UsageOf(cluster.NodeProcess(host));
    if (usage.other_files == 0) {
      leaks.push_back(
          absl::StrCat("host ", host, ": its open files cannot be counted"));
    }
    const auto compare = [&](std::uint64_t now, std::uint64_t before,
                             std::uint64_t margin, absl::string_view what) {
      if (now <= before + margin) return;
      leaks.push_back(absl::StrCat("host ", host, ": ", now, " ", what,
                                   ", at first at most ", before));
    };
    compare(usage.sockets, idle.sockets, kSocketsPerNode * nodes, "sockets");
    compare(usage.other_files, idle.other_files, kFilesMargin, "open files");
    compare(usage.private_bytes, idle.private_bytes, kPrivateMargin,
            "bytes of memory");
  }
}

void AddFileLeaks(ChaosCluster& cluster, std::vector<std::string>& leaks) {
  // Only daemons have a socket there.
  const struct {
    const char* path;
    std::size_t most;
  } folders[] = {{kChaosSocketFolder, static_cast<std::size_t>(cluster.size())},
                 {"/dev/shm", 0}};
  for (const auto& folder : folders) {
    const auto files = cluster.Files(folder.path, absl::Now() + kAnswerTimeout);
    if (!files.ok()) {
      leaks.push_back(std::string(files.status().message()));
    } else if (files->size() > folder.most) {
      leaks.push_back(
          absl::StrCat(files->size(), " files in ", folder.path, " of a host"));
    }
  }
}

std::vector<std::string> LeaksNow(ChaosCluster& cluster,
                                  const ChaosUsage& idle) {
  std::vector<std::string> leaks;
  const std::vector<NodeReport> reports =
      cluster.Reports(absl::Now() + kAnswerTimeout);
  for (const NodeReport& report : reports) AddReportLeaks(report, leaks);
  if (reports.size() < static_cast<std::size_t>(cluster.size())) {
    leaks.push_back(absl::StrCat("only ", reports.size(), " of ",
                                 cluster.size(), " nodes have reported"));
  }
  AddProcessLeaks(cluster, idle, leaks);
  AddFileLeaks(cluster, leaks);
  return leaks;
}

}  // namespace

ChaosUsage UsageOf(const ChaosCluster& cluster) {
  ChaosUsage most;
  for (int host = 0; host < cluster.size(); ++host) {
    const ChaosUsage usage = UsageOf(cluster.NodeProcess(host));
    most.sockets = std::max(most.sockets, usage.sockets);
    most.other_files = std::max(most.other_files, usage.other_files);
    most.private_bytes = std::max(most.private_bytes, usage.private_bytes);
  }
  return most;
}

std::vector<std::string> FindLeaks(ChaosCluster& cluster,
                                   const ChaosUsage& idle,
                                   absl::Duration patience) {
  const absl::Time deadline = absl::Now() + patience;
  while (true) {
    std::vector<std::string> leaks = LeaksNow(cluster, idle);
    if (leaks.empty() || absl::Now() >= deadline) return leaks;
    cluster.Next(absl::Now() + kPollPause);
  }
}

}  // namespace hoplite::cli
