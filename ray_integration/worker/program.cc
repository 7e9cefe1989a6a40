#include "ray_integration/worker/program.h"

#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <fstream>
#include <iterator>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace hoplite::task {

absl::StatusOr<ProgramInfo> ThisProgram() {
  ProgramInfo program;
  std::array<char, PATH_MAX> path{};
  const ssize_t size = readlink("/proc/self/exe", path.data(), path.size() - 1);
  std::array<char, PATH_MAX> folder{};
  struct stat about {};
  if (size < 0 || getcwd(folder.data(), folder.size()) == nullptr ||
      stat("/proc/self/exe", &about) != 0) {
    return absl::InternalError(
        absl::StrCat("cannot find this program's own file: errno ", errno));
  }
  program.path.assign(path.data(), size);
  program.folder = folder.data();
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  for (const absl::string_view argument :
       absl::StrSplit(text, '\0', absl::SkipEmpty())) {
    program.arguments.emplace_back(argument);
  }
  for (char** variable = environ; *variable != nullptr; ++variable) {
    // Each worker has its own of these.
    if (!absl::StartsWith(*variable, "HOPLITE_TASK_") &&
        !absl::StartsWith(*variable, "HOPLITE_NODE=")) {
      program.environment.emplace_back(*variable);
    }
  }
  program.build =
      absl::StrCat(about.st_ino, "-", about.st_size, "-", about.st_mtim.tv_sec,
                   ".", about.st_mtim.tv_nsec);
  return program;
}

}  // namespace hoplite::task
