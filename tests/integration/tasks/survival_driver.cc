// The driver of survival_test: many tasks of four kinds, some of which kill
// the worker that runs them, and right results all the same.
//
//   survival_driver TASKS KILLS SEED FOLDER
//
// Prints {"done": N} after each wave of tasks and {"finished": N} at the end,
// when it has let all go; then waits for the end of its input. A wrong result
// ends it. FOLDER has a file for each worker that a task has killed, with the
// name of its host.

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "hoplite/base/random.h"
#include "hoplite/base/status_macros.h"
#include "ray_integration/api/task.h"

namespace hoplite::task {
namespace {

// Of a wave: what is under way at one time.
constexpr int kWave = 1000;
// More than a value that travels with the answer may have.
constexpr std::uint32_t kWords = 25'000;
// No wave takes longer, unless it hangs.
constexpr absl::Duration kTimeout = absl::Minutes(5);

struct Step {
  std::int64_t number = 0;
  // The file by which the task knows that it has been tried before, or empty
  // for one that kills nobody.
  std::string marker;
};
HOPLITE_FIELDS(Step, number, marker);

void DieAtFirst(const Step& step) {
  if (step.marker.empty()) return;
  const int file =
      open(step.marker.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
           S_IRUSR | S_IWUSR);
  if (file < 0) return;
  std::array<char, 64> host{};
  gethostname(host.data(), host.size() - 1);
  if (write(file, host.data(), std::strlen(host.data())) > 0) raise(SIGKILL);
  std::abort();  // the test misses the host
}

std::int64_t Scrambled(std::int64_t number) {
  return number * 2'654'435'761 % 1'000'003;
}

std::int64_t Scramble(const Step& step) {
  DieAtFirst(step);
  return Scrambled(step.number);
}

std::vector<std::uint32_t> Filled(std::int64_t number) {
  std::vector<std::uint32_t> words(kWords);
  std::iota(words.begin(), words.end(), static_cast<std::uint32_t>(number));
  return words;
}

std::vector<std::uint32_t> Fill(const Step& step) {
  DieAtFirst(step);
  return Filled(step.number);
}

std::int64_t Summed(std::span<const std::uint32_t> words) {
  return std::accumulate(words.begin(), words.end(), std::int64_t{0});
}

std::int64_t Sum(const Value<std::vector<std::uint32_t>>& words,
                 const Step& step) {
  DieAtFirst(step);
  return Summed(*words);
}

// Two tasks more, which its worker owns.
absl::StatusOr<std::int64_t> Nest(const Step& step) {
  const ObjectRef<std::int64_t> left =
      Remote(Scramble, Step{.number = step.number});
  const ObjectRef<std::int64_t> right =
      Remote(Scramble, Step{.number = step.number + 1});
  DieAtFirst(step);
  HOPLITE_ASSIGN_OR_RETURN(const std::int64_t first, Get(left));
  HOPLITE_ASSIGN_OR_RETURN(const std::int64_t second, Get(right));
  return first + second;
}

HOPLITE_REMOTE(Scramble, Fill, Sum, Nest);

// Tasks 20 k fill what tasks 20 k + 1 sum up; tasks 20 k + 2 have tasks of
// their own.
enum class Kind { kFill, kSum, kNest, kScramble };

Kind KindOf(std::int64_t number) {
  constexpr int kOfEach = 20;
  return static_cast<Kind>(std::min<std::int64_t>(number % kOfEach, 3));
}

std::int64_t RightResult(std::int64_t number) {
  switch (KindOf(number)) {
    case Kind::kSum:
      return Summed(Filled(number - 1));
    case Kind::kNest:
      return Scrambled(number) + Scrambled(number + 1);
    default:
      return Scrambled(number);
  }
}

class Survival {
 public:
  Survival(std::int64_t tasks, std::int64_t kills, std::uint64_t seed,
           std::string folder)
      : folder_(std::move(folder)), kills_(static_cast<std::size_t>(tasks), 0) {
    Random random(seed);
    std::fill_n(kills_.begin(), std::min(kills, tasks), 1);
    random.Shuffle(kills_);
  }

  absl::Status Run() {
    const auto tasks = static_cast<std::int64_t>(kills_.size());
    for (std::int64_t first = 0; first < tasks; first += kWave) {
      const std::int64_t end = std::min<std::int64_t>(first + kWave, tasks);
      HOPLITE_RETURN_IF_ERROR(RunWave(first, end));
      Print("done", end);
    }
    Print("finished", tasks);
    return absl::OkStatus();
  }

 private:
  absl::Status RunWave(std::int64_t first, std::int64_t end) {
    std::vector<std::int64_t> numbers;
    std::vector<ObjectRef<std::int64_t>> results;
    ObjectRef<std::vector<std::uint32_t>> filled;
    for (std::int64_t number = first; number < end; ++number) {
      const Step step = StepOf(number);
      const Kind kind = KindOf(number);
      if (kind == Kind::kFill) {
        filled = Remote(Fill, step);
        continue;
      }
      numbers.push_back(number);
      results.push_back(kind == Kind::kSum    ? Remote(Sum, filled, step)
                        : kind == Kind::kNest ? Remote(Nest, step)
                                              : Remote(Scramble, step));
    }
    HOPLITE_ASSIGN_OR_RETURN(const std::vector<Value<std::int64_t>> values,
                             Get(results, kTimeout));
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      if (*values[i] == RightResult(numbers[i])) continue;
      return absl::DataLossError(
          absl::StrCat("task ", numbers[i], " returned ", *values[i]));
    }
    return absl::OkStatus();
  }

  Step StepOf(std::int64_t number) const {
    const bool kills = kills_[static_cast<std::size_t>(number)] != 0;
    return {.number = number,
            .marker = kills ? absl::StrCat(folder_, "/", number) : ""};
  }

  static void Print(const char* what, std::int64_t count) {
    std::printf("{\"%s\": %lld}\n", what, static_cast<long long>(count));
    std::fflush(stdout);
  }

  const std::string folder_;
  std::vector<char> kills_;  // by task: whether it kills its worker
};

int Main(int argc, char** argv) {
  absl::Status status = Init(argc, argv);
  if (status.ok() && argc != 5) {
    status = absl::InvalidArgumentError("give TASKS KILLS SEED FOLDER");
  }
  if (status.ok()) {
    status = Survival(std::atoll(argv[1]), std::atoll(argv[2]),
                      std::strtoull(argv[3], nullptr, 10), argv[4])
                 .Run();
  }
  if (!status.ok()) {
    std::fprintf(stderr, "%s\n", status.ToString().c_str());
    return 1;
  }
  while (std::getchar() != EOF) {
  }
  Shutdown();
  return 0;
}

}  // namespace
}  // namespace hoplite::task

int main(int argc, char** argv) { return hoplite::task::Main(argc, argv); }
