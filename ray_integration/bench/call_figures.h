// The five figures of a task system, measured in one way whatever the system:
// this text drives Hoplite's tasks and Ray's C++ API, and ray_calls.py says the
// same in Python.
//
// A figure is the median of `repetitions` rounds that follow `warm_ups` more.
// A round is a batch of tasks, of actor calls or of puts that are started at
// once, or so many round trips, of which it gives the median. Every result is
// checked; one that is wrong ends the program.
//
// It is compiled against Ray's headers too: C++17 and nothing but the standard
// library.
//
// Thread safety: none; one thread at a time.
// Units: microseconds where a name ends in _us.

#ifndef HOPLITE_RAY_INTEGRATION_BENCH_CALL_FIGURES_H_
#define HOPLITE_RAY_INTEGRATION_BENCH_CALL_FIGURES_H_

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace hoplite::task {

// What every empty task returns.
inline constexpr int kAnswer = 42;
inline constexpr std::size_t kPutBytes = 1024;

// What is measured. Batches are started as a whole before the first result is
// waited for.
class CallSystem {
 public:
  virtual ~CallSystem() = default;
  // Empty tasks; each returns kAnswer.
  virtual void RunTasks(int count) = 0;
  // Calls of one actor, which returns the number of calls so far.
  virtual void CallActor(int count) = 0;
  // Puts each value, and keeps the references.
  virtual void Put(const std::vector<std::string>& values) = 0;
  // Gets each of them and lets it go.
  virtual void TakeBack(const std::vector<std::string>& values) = 0;
};

[[noreturn]] inline void FailCalls(const std::string& why) {
  std::fprintf(stderr, "%s\n", why.c_str());
  std::exit(1);
}

inline void CheckResult(long long result, long long right) {
  if (result == right) return;
  FailCalls("a call returned " + std::to_string(result) + " in place of " +
            std::to_string(right));
}

struct CallPlan {
  int warm_ups = 0;
  int repetitions = 1;
  int batch = 1;  // of tasks, calls, puts
  int calls = 1;  // round trips of a round

  // Of a program's arguments, in this order.
  static CallPlan Parse(int argc, char** argv) {
    if (argc < 5) FailCalls("give WARM_UPS REPETITIONS BATCH CALLS");
    return {std::atoi(argv[1]), std::max(1, std::atoi(argv[2])),
            std::max(1, std::atoi(argv[3])), std::max(1, std::atoi(argv[4]))};
  }
};

// The upper one of two in the middle. REQUIRES: not empty.
inline double MiddleOf(std::vector<double> values) {
  const auto middle = values.begin() + values.size() / 2;
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

template <typename Work>
double SecondsOf(const Work& work) {
  using Clock = std::chrono::steady_clock;
  // tidy-allow(clock): compiled against Ray too, where our clock is not.
  const auto begin = Clock::now();
  work();
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

// The median of what the rounds give, without the first ones.
template <typename Round>
double MeasureRounds(const CallPlan& plan, const Round& round) {
  std::vector<double> figures;
  for (int i = 0; i < plan.warm_ups + plan.repetitions; ++i) {
    const double figure = round();
    if (i >= plan.warm_ups) figures.push_back(figure);
  }
  return MiddleOf(std::move(figures));
}

template <typename Work>
double MeasureBatches(const CallPlan& plan, const Work& work) {
  return MeasureRounds(plan, [&] { return plan.batch / SecondsOf(work); });
}

template <typename Work>
double MeasureRoundTripsUs(const CallPlan& plan, const Work& work) {
  return MeasureRounds(plan, [&] {
    std::vector<double> trips;
    for (int i = 0; i < plan.calls; ++i) trips.push_back(SecondsOf(work) * 1e6);
    return MiddleOf(std::move(trips));
  });
}

inline double MeasurePuts(const CallPlan& plan, CallSystem& system) {
  std::vector<std::string> values;
  for (int i = 0; i < plan.batch; ++i) {
    values.push_back(std::to_string(i));
    values.back().resize(kPutBytes, 'x');
  }
  return MeasureRounds(plan, [&] {
    const double seconds = SecondsOf([&] { system.Put(values); });
    system.TakeBack(values);
    return plan.batch / seconds;
  });
}

// Prints one JSON object on a line.
inline void PrintCallFigures(const char* name, const CallPlan& plan,
                             CallSystem& system) {
  const double tasks =
      MeasureBatches(plan, [&] { system.RunTasks(plan.batch); });
  const double task_us = MeasureRoundTripsUs(plan, [&] { system.RunTasks(1); });
  const double call_us =
      MeasureRoundTripsUs(plan, [&] { system.CallActor(1); });
  const double calls =
      MeasureBatches(plan, [&] { system.CallActor(plan.batch); });
  const double puts = MeasurePuts(plan, system);
  std::printf(
      "{\"system\": \"%s\", \"tasks_per_s\": %.1f, \"task_us\": %.2f, "
      "\"actor_call_us\": %.2f, \"actor_calls_per_s\": %.1f, "
      "\"puts_per_s\": %.1f}\n",
      name, tasks, task_us, call_us, calls, puts);
  std::fflush(stdout);
}

}  // namespace hoplite::task

#endif  // HOPLITE_RAY_INTEGRATION_BENCH_CALL_FIGURES_H_
