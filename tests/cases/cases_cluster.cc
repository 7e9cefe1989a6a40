#include "tests/cases/cases_cluster.h"

#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "hoplite/base/digest.h"
#include "hoplite/runtime/clock.h"

namespace hoplite {
namespace {

std::uint64_t PatternWord(std::uint64_t index, std::uint64_t seed) {
  const std::uint64_t mixed = (index + 1 + (seed << 40)) * 0x9e3779b97f4a7c15u;
  return mixed ^ (mixed >> 29);
}

// Byte by byte, without a carry from one to the next.
std::uint64_t AddBytes(std::uint64_t a, std::uint64_t b) {
  constexpr std::uint64_t kLow = 0x7f7f7f7f7f7f7f7fu;
  return ((a & kLow) + (b & kLow)) ^ ((a ^ b) & ~kLow);
}

template <typename WordAt>
bool HasWords(std::span<const std::byte> bytes, WordAt word_at) {
  for (std::uint64_t at = 0; at < bytes.size(); at += 8) {
    const std::uint64_t word = word_at(at / 8);
    const std::size_t length = std::min<std::uint64_t>(8, bytes.size() - at);
    if (std::memcmp(bytes.data() + at, &word, length) != 0) return false;
  }
  return true;
}

// The number behind `name` in a file of the kernel's, which is in KiB.
std::uint64_t KernelFigure(const char* path, absl::string_view name) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const std::vector<std::string> words =
        absl::StrSplit(line, absl::ByAnyChar(": \t"), absl::SkipEmpty());
    std::uint64_t kib = 0;
    if (words.size() > 1 && words[0] == name &&
        absl::SimpleAtoi(words[1], &kib)) {
      return kib << 10;
    }
  }
  return 0;
}

}  // namespace

CasesCluster::CasesCluster(int nodes, std::uint64_t store_bytes) {
  for (int i = 0; i < nodes; ++i) Add(store_bytes);
}

Client& CasesCluster::Add(std::uint64_t store_bytes) {
  NodeOptions options{.store_bytes = store_bytes};
  if (!clients_.empty()) options.join = Report(0).control_address;
  clients_.push_back(Client::Embed(options).value());
  return *clients_.back();
}

NodeReport CasesCluster::Report(int node) {
  return clients_[node]->Report().value();
}

std::uint64_t CasesCluster::Total(std::uint64_t NodeCounters::*counter) {
  std::uint64_t total = 0;
  for (int i = 0; i < size(); ++i) total += Report(i).counters.*counter;
  return total;
}

std::uint64_t CasesCluster::DirectoryRecords() {
  std::uint64_t total = 0;
  for (int i = 0; i < size(); ++i) total += Report(i).status.directory_records;
  return total;
}

ObjectId NewId() {
  static std::atomic<int> last = 0;
  return IdFromName(absl::StrCat("case ", ++last));
}

std::vector<ObjectId> NewIds(int count) {
  std::vector<ObjectId> ids;
  for (int i = 0; i < count; ++i) ids.push_back(NewId());
  return ids;
}

bool IsSoak() { return std::getenv("HOPLITE_SOAK") != nullptr; }

void FillPattern(std::span<std::byte> bytes, std::uint64_t seed) {
  for (std::uint64_t at = 0; at < bytes.size(); at += 8) {
    const std::uint64_t word = PatternWord(at / 8, seed);
    std::memcpy(bytes.data() + at, &word,
                std::min<std::uint64_t>(8, bytes.size() - at));
  }
}

std::vector<std::byte> Pattern(std::uint64_t size, std::uint64_t seed) {
  std::vector<std::byte> bytes(size);
  FillPattern(bytes, seed);
  return bytes;
}

bool HasPattern(std::span<const std::byte> bytes, std::uint64_t seed) {
  return HasWords(bytes, [&](std::uint64_t i) { return PatternWord(i, seed); });
}

bool HasPatternSum(std::span<const std::byte> bytes, std::uint64_t seed_a,
                   std::uint64_t seed_b) {
  return HasWords(bytes, [&](std::uint64_t i) {
    return AddBytes(PatternWord(i, seed_a), PatternWord(i, seed_b));
  });
}

bool Eventually(const std::function<bool()>& condition) {
  const absl::Time deadline = SystemClock::Now() + kPatience;
  while (!condition()) {
    if (SystemClock::Now() > deadline) return false;
    std::this_thread::yield();
  }
  return true;
}

void WaitInVain(Client& client, absl::Duration duration) {
  const Future<Buffer> never = client.GetAsync(NewId());
  never.Wait(SystemClock::Now() + duration);
  never.Cancel();
}

std::uint64_t PrivateMemory() {
  return KernelFigure("/proc/self/status", "RssAnon");
}

std::size_t OpenDescriptors() {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& each :
       std::filesystem::directory_iterator("/proc/self/fd")) {
    ++count;
  }
  return count;
}

absl::Duration ProcessorTime() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return absl::DurationFromTimeval(usage.ru_utime) +
         absl::DurationFromTimeval(usage.ru_stime);
}

std::uint64_t AvailableMemory() {
  return KernelFigure("/proc/meminfo", "MemAvailable");
}

}  // namespace hoplite
