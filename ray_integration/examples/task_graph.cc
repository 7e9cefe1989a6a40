// Many tasks that depend on each other: the primes below a million.
//
// Sixteen tasks count the primes of a part each; then pairs are added, pairs
// of pairs, and so on. The whole graph is handed over before the first task
// has ended, and nobody waits in between: an addition starts when its two
// arguments are there, wherever they are.

#include <cstddef>
#include <iostream>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "hoplite/base/status_macros.h"
#include "ray_integration/api/task.h"

namespace {

namespace task = hoplite::task;

constexpr int kEnd = 1'000'000;
constexpr int kParts = 16;
constexpr int kPrimesBelowAMillion = 78'498;

bool IsPrime(int number) {
  for (int divisor = 2; divisor * divisor <= number; ++divisor) {
    if (number % divisor == 0) return false;
  }
  return number > 1;
}

int CountPrimes(int begin, int end) {
  int count = 0;
  for (int number = begin; number < end; ++number) count += IsPrime(number);
  return count;
}

int Plus(int a, int b) { return a + b; }

HOPLITE_REMOTE(CountPrimes, Plus);

absl::Status Run() {
  std::vector<task::ObjectRef<int>> counts;
  for (int part = 0; part < kParts; ++part) {
    counts.push_back(task::Remote(CountPrimes, kEnd / kParts * part,
                                  kEnd / kParts * (part + 1)));
  }
  while (counts.size() > 1) {
    std::vector<task::ObjectRef<int>> sums;
    for (std::size_t i = 0; i < counts.size(); i += 2) {
      sums.push_back(task::Remote(Plus, counts[i], counts[i + 1]));
    }
    counts = sums;
  }

  HOPLITE_ASSIGN_OR_RETURN(const int primes,
                           task::Get(counts.front(), absl::Minutes(1)));
  std::cout << "there are " << primes << " primes below " << kEnd << "\n";
  if (primes != kPrimesBelowAMillion) {
    return absl::InternalError("that is a wrong number");
  }
  return absl::OkStatus();
}

}  // namespace

int main(int argc, char** argv) {
  absl::Status status = task::Init(argc, argv);
  if (status.ok()) status = Run();
  task::Shutdown();
  if (!status.ok()) std::cerr << status << "\n";
  return status.ok() ? 0 : 1;
}
