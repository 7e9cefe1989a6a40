#include "hoplite/cli/program.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>

#include "spdlog/sinks/stdout_color_sinks.h"
#include "spdlog/spdlog.h"

namespace hoplite::cli {

void PrepareProgram() {
  for (int number : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(number, F_GETFD) >= 0) continue;
    // Takes the lowest number that is free, which is this one.
    open("/dev/null", number == STDIN_FILENO ? O_WRONLY : O_RDONLY);
  }
  spdlog::set_default_logger(spdlog::stderr_color_mt("hoplite"));
  const char* folder = std::getenv("BUILD_WORKING_DIRECTORY");
  if (folder != nullptr && chdir(folder) != 0) {
    spdlog::warn("cannot enter {}: relative paths start elsewhere", folder);
  }
}

}  // namespace hoplite::cli
