// The smallest program: one task, and another that takes its result.
//
// A task may run in any process of the cluster. What it will return is an
// ObjectRef from the start, and can be an argument before it exists.

#include <algorithm>
#include <cctype>
#include <iostream>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "hoplite/base/status_macros.h"
#include "ray_integration/api/task.h"

namespace {

namespace task = hoplite::task;

std::string Greet(const std::string& name) { return "hello, " + name; }

std::string Shout(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return std::toupper(c); });
  return text + "!";
}

HOPLITE_REMOTE(Greet, Shout);

absl::Status Run() {
  const auto greeting = task::Remote(Greet, "world");
  const auto shout = task::Remote(Shout, greeting);

  HOPLITE_ASSIGN_OR_RETURN(const std::string text,
                           task::Get(shout, absl::Seconds(30)));
  std::cout << text << "\n";
  if (text != "HELLO, WORLD!") return absl::InternalError("that is not it");
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
