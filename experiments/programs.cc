#include "experiments/programs.h"

#include <unistd.h>

#include <filesystem>
#include <memory>
#include <system_error>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "hoplite/base/status_macros.h"
#include "tools/cpp/runfiles/runfiles.h"

namespace hoplite::experiments {
namespace {

using bazel::tools::cpp::runfiles::Runfiles;

absl::StatusOr<std::string> FindProgram(const Runfiles& runfiles,
                                        absl::string_view path) {
  std::error_code error;
  const std::filesystem::path found = std::filesystem::absolute(
      runfiles.Rlocation(absl::StrCat("hoplite/", path)), error);
  if (!error && access(found.c_str(), X_OK) == 0) return found.string();
  return absl::NotFoundError(
      absl::StrCat("there is no ", path,
                   " among the runfiles: start this with ./bazelw run"));
}

}  // namespace

absl::StatusOr<Programs> FindPrograms(const std::string& own_path) {
  std::string error;
  const std::unique_ptr<Runfiles> runfiles(Runfiles::Create(own_path, &error));
  if (runfiles == nullptr) return absl::NotFoundError(error);
  Programs programs;
  HOPLITE_ASSIGN_OR_RETURN(
      programs.node, FindProgram(*runfiles, "ray_integration/cli/hoplite"));
  HOPLITE_ASSIGN_OR_RETURN(
      programs.parameter_server,
      FindProgram(*runfiles, "apps/parameter_server/parameter_server"));
  return programs;
}

}  // namespace hoplite::experiments
