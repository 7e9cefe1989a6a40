#include "hoplite/cli/program.h"

#include <unistd.h>

#include <cstdlib>

#include "spdlog/sinks/stdout_color_sinks.h"
#include "spdlog/spdlog.h"

namespace hoplite::cli {

void PrepareProgram() {
  spdlog::set_default_logger(spdlog::stderr_color_mt("hoplite"));
  const char* folder = std::getenv("BUILD_WORKING_DIRECTORY");
  if (folder != nullptr && chdir(folder) != 0) {
    spdlog::warn("cannot enter {}: relative paths start elsewhere", folder);
  }
}

}  // namespace hoplite::cli
