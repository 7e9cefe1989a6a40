// What is left to do when something fails: little.
//
// A task whose process dies is run again, elsewhere or in a new process. An
// error that a task returns goes to everyone who gets its result, also by way
// of other tasks, and names them. An actor that dies starts anew, as often as
// it is allowed to, from its factory and without its state.

#include <cstdlib>
#include <iostream>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/time/time.h"
#include "hoplite/base/status_macros.h"
#include "ray_integration/api/task.h"

namespace {

namespace task = hoplite::task;
constexpr absl::Duration kTimeout = absl::Seconds(30);

class Counter {
 public:
  int Next() { return ++number_; }
  void Crash() { std::abort(); }

 private:
  int number_ = 0;
};
std::unique_ptr<Counter> MakeCounter() { return std::make_unique<Counter>(); }

// Takes its process with it, the first time; returns which time this is.
absl::StatusOr<int> Fragile(task::ActorRef<Counter> attempts) {
  HOPLITE_ASSIGN_OR_RETURN(const int attempt,
                           task::Get(attempts.Remote(&Counter::Next)));
  if (attempt == 1) std::abort();
  return attempt;
}

absl::StatusOr<int> Divide(int a, int b) {
  if (b == 0) return absl::InvalidArgumentError("division by zero");
  return a / b;
}
int Square(int a) { return a * a; }

HOPLITE_REMOTE(MakeCounter, Fragile, Divide, Square, &Counter::Next,
               &Counter::Crash);

absl::Status ATaskIsRunAgain() {
  const auto attempts = task::RemoteActor(MakeCounter);
  HOPLITE_ASSIGN_OR_RETURN(
      const int attempt, task::Get(task::Remote(Fragile, attempts), kTimeout));
  std::cout << "a task died once, and ended at attempt " << attempt << "\n";
  return attempt == 2 ? absl::OkStatus() : absl::InternalError("not 2");
}

absl::Status AnErrorTravels() {
  const auto quotient = task::Remote(Divide, 1, 0);
  const auto got = task::Get(task::Remote(Square, quotient), kTimeout);
  std::cout << "an error says: " << got.status().message() << "\n";
  const bool names_all =
      absl::StrContains(got.status().message(), "Square") &&
      absl::StrContains(got.status().message(), "Divide") &&
      absl::StrContains(got.status().message(), "division by zero");
  return names_all ? absl::OkStatus() : absl::InternalError("not all named");
}

absl::Status AnActorStartsAnew() {
  const auto counter = task::RemoteActor({.restarts = 1}, MakeCounter);
  counter.Remote(&Counter::Next);
  const auto crash = task::Get(counter.Remote(&Counter::Crash), kTimeout);
  std::cout << "an actor died: " << crash.message() << "\n";
  HOPLITE_ASSIGN_OR_RETURN(const int number,
                           task::Get(counter.Remote(&Counter::Next), kTimeout));
  std::cout << "started anew, it counts from " << number << "\n";
  return number == 1 && !crash.ok() ? absl::OkStatus()
                                    : absl::InternalError("not from 1");
}

absl::Status Run() {
  HOPLITE_RETURN_IF_ERROR(ATaskIsRunAgain());
  HOPLITE_RETURN_IF_ERROR(AnErrorTravels());
  return AnActorStartsAnew();
}

}  // namespace

int main(int argc, char** argv) {
  absl::Status status = task::Init(argc, argv);
  if (status.ok()) status = Run();
  task::Shutdown();
  if (!status.ok()) std::cerr << status << "\n";
  return status.ok() ? 0 : 1;
}
