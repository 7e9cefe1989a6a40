// A folder of this process's own, which goes with everything in it, also at
// a signal.
//
// Thread safety: none; one thread at a time.

#ifndef HOPLITE_CLI_TEMPORARY_FOLDER_H_
#define HOPLITE_CLI_TEMPORARY_FOLDER_H_

#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "hoplite/cli/undo_at_signal.h"

namespace hoplite::cli {

class TemporaryFolder {
 public:
  // In the system's folder for temporary files, with a name short enough for
  // sockets. Errors: kFailedPrecondition, naming that folder.
  static absl::StatusOr<std::unique_ptr<TemporaryFolder>> Create();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::string& path() const { return path_; }

 private:
  explicit TemporaryFolder(std::string path)
      : path_(std::move(path)), undo_([this] { Remove(); }) {}

  void Remove() const;

  const std::string path_;
  const UndoAtSignal undo_;
};

}  // namespace hoplite::cli

#endif  // HOPLITE_CLI_TEMPORARY_FOLDER_H_
