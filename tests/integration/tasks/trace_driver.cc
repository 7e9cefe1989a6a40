// The driver of trace_test: tasks of every kind, whose numbers are known.
//
//   trace_driver run      40 Square, 1 Total of their results, 1 Fail, an actor
//                         (MakeGate) with 5 Gate::Count, 1 Fill on host1 and 1
//                         Length of it on host2
//   trace_driver hold F   an actor's call, Gate::Hold, that runs until there is
//                         a line of input; "held" is printed when it does. F is
//                         a folder for two pipes.

#include <sys/stat.h>

#include <cstdio>
#include <fstream>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "hoplite/base/status_macros.h"
#include "ray_integration/api/task.h"

namespace hoplite::task {
namespace {

constexpr absl::Duration kTimeout = absl::Minutes(2);
// More than travels with an answer.
constexpr int kFloats = 100'000;

int Square(int number) { return number * number; }
int Total(int left, int right) { return left + right; }
absl::Status Fail() { return absl::InternalError("this one is meant to"); }
std::vector<float> Fill(int size) {
  return std::vector<float>(static_cast<std::size_t>(size), 1.0F);
}
int Length(Value<std::vector<float>> values) {
  return static_cast<int>((*values).size());
}

std::string BegunPipe(const std::string& folder) {
  return absl::StrCat(folder, "/begun");
}
std::string EndPipe(const std::string& folder) {
  return absl::StrCat(folder, "/end");
}

class Gate {
 public:
  int Count() { return ++count_; }
  // Opening a pipe waits for its other end.
  int Hold(const std::string& folder) {
    std::ofstream(BegunPipe(folder)).close();
    std::ifstream(EndPipe(folder)).get();
    return ++count_;
  }

 private:
  int count_ = 0;
};
std::unique_ptr<Gate> MakeGate() { return std::make_unique<Gate>(); }

HOPLITE_REMOTE(Square, Total, Fail, Fill, Length, MakeGate, &Gate::Count,
               &Gate::Hold);

absl::Status RunAll() {
  std::vector<ObjectRef<int>> squares;
  for (int i = 0; i < 40; ++i) squares.push_back(Remote(Square, i));
  HOPLITE_RETURN_IF_ERROR(Get(squares, kTimeout).status());
  HOPLITE_RETURN_IF_ERROR(
      Get(Remote(Total, squares[3], squares[4]), kTimeout).status());
  if (Get(Remote(Fail), kTimeout).ok()) {
    return absl::InternalError("what fails has not failed");
  }
  const auto gate = RemoteActor(MakeGate);
  std::vector<ObjectRef<int>> counts;
  for (int i = 0; i < 5; ++i) counts.push_back(gate.Remote(&Gate::Count));
  HOPLITE_RETURN_IF_ERROR(Get(counts, kTimeout).status());
  const auto large = Remote({.host = "host1"}, Fill, kFloats);
  return Get(Remote({.host = "host2"}, Length, large), kTimeout).status();
}

absl::Status HoldOne(const std::string& folder) {
  for (const std::string& pipe : {BegunPipe(folder), EndPipe(folder)}) {
    if (mkfifo(pipe.c_str(), S_IRUSR | S_IWUSR) != 0) {
      return absl::InternalError(absl::StrCat("no pipe at ", pipe));
    }
  }
  const auto gate = RemoteActor(MakeGate);
  const auto held = gate.Remote(&Gate::Hold, folder);
  std::ifstream(BegunPipe(folder)).get();
  std::cout << "held" << std::endl;
  std::string line;
  std::getline(std::cin, line);
  std::ofstream(EndPipe(folder)).close();
  return Get(held, kTimeout).status();
}

absl::Status Run(const std::vector<std::string>& words) {
  if (words.size() == 2 && words[0] == "hold") return HoldOne(words[1]);
  return RunAll();
}

}  // namespace
}  // namespace hoplite::task

int main(int argc, char** argv) {
  absl::Status status = hoplite::task::Init(argc, argv);
  if (status.ok()) {
    status = hoplite::task::Run({argv + 1, argv + argc});
  }
  hoplite::task::Shutdown();
  if (!status.ok()) std::cerr << status << "\n";
  return status.ok() ? 0 : 1;
}
