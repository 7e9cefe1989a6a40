#include "hoplite/cli/temporary_folder.h"

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "hoplite/cli/files.h"

namespace hoplite::cli {

absl::StatusOr<std::unique_ptr<TemporaryFolder>> TemporaryFolder::Create() {
  std::error_code error;
  std::string path = absl::StrCat(
      std::filesystem::temp_directory_path(error).string(), "/hoplite-XXXXXX");
  if (mkdtemp(path.data()) == nullptr) {
    return FileError(errno, absl::StrCat("cannot make the folder ", path));
  }
  // No make_unique: the constructor is private.
  return std::unique_ptr<TemporaryFolder>(new TemporaryFolder(path));
}

TemporaryFolder::~TemporaryFolder() { Remove(); }

void TemporaryFolder::Remove() const {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace hoplite::cli
