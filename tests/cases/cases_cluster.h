// CasesCluster is a cluster whose nodes all live in this process, for the
// tests of cases that users of other systems reported (docs/cases.md).
//
// Thread safety: thread-safe once it is made.
// Units: bytes.

#ifndef HOPLITE_TESTS_CASES_CASES_CLUSTER_H_
#define HOPLITE_TESTS_CASES_CASES_CLUSTER_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "hoplite/api/hoplite.h"

namespace hoplite {

// No call here takes longer, unless it hangs.
inline constexpr absl::Duration kPatience = absl::Seconds(60);
inline constexpr CallOptions kPatiently = {.timeout = kPatience};

// Sanitizers need private memory of their own, so none is measured.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kMemoryIsOurs = false;
#else
inline constexpr bool kMemoryIsOurs = true;
#endif

class CasesCluster {
 public:
  // Node 0 is the head. Ends the process where a node cannot start.
  explicit CasesCluster(int nodes, std::uint64_t store_bytes = 64 << 20);

  // One more; a client of it.
  Client& Add(std::uint64_t store_bytes);
  Client& operator[](int node) { return *clients_[node]; }
  int size() const { return static_cast<int>(clients_.size()); }
  NodeReport Report(int node);
  // Over all nodes.
  std::uint64_t Total(std::uint64_t NodeCounters::*counter);
  std::uint64_t DirectoryRecords();

 private:
  std::vector<std::unique_ptr<Client>> clients_;
};

// An id that no other call gave out in this process.
ObjectId NewId();
std::vector<ObjectId> NewIds(int count);

// Where the case is to run at its full length.
bool IsSoak();

// Depends on the position and the seed, everywhere.
void FillPattern(std::span<std::byte> bytes, std::uint64_t seed);
std::vector<std::byte> Pattern(std::uint64_t size, std::uint64_t seed);
// The same bytes, compared without a copy.
bool HasPattern(std::span<const std::byte> bytes, std::uint64_t seed);
// Each byte is the sum, modulo 256, of those of two patterns.
bool HasPatternSum(std::span<const std::byte> bytes, std::uint64_t seed_a,
                   std::uint64_t seed_b);

// Blocks until `condition` holds (true) or kPatience has passed.
bool Eventually(const std::function<bool()>& condition);
// Blocks for this long, in the wait for a Get that cannot end.
void WaitInVain(Client& client, absl::Duration duration);

// Of this process: memory that is not shared, descriptors, processor time.
std::uint64_t PrivateMemory();
std::size_t OpenDescriptors();
absl::Duration ProcessorTime();
// Of this machine.
std::uint64_t AvailableMemory();

}  // namespace hoplite

#endif  // HOPLITE_TESTS_CASES_CASES_CLUSTER_H_
