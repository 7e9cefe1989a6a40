#include "hoplite/cli/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "hoplite/base/status_macros.h"

namespace hoplite::cli {
namespace {

constexpr std::size_t kPieceBytes = 1 << 20;

absl::Status WriteFull(int file, std::span<const std::byte> bytes,
                       absl::string_view name) {
  while (!bytes.empty()) {
    const ssize_t written = write(file, bytes.data(), bytes.size());
    if (written >= 0) {
      bytes = bytes.subspan(static_cast<std::size_t>(written));
    } else if (errno != EINTR) {
      return FileError(errno, absl::StrCat("cannot write ", name));
    }
  }
  return absl::OkStatus();
}

// What a new file may be used for, as if it were simply created.
mode_t NewFileMode() {
  const mode_t mask = umask(0);
  umask(mask);
  return 0666 & ~mask;
}

// Writes beside `path` and then takes its place.
absl::Status ReplaceFile(const std::string& path,
                         std::span<const std::byte> bytes) {
  std::string temporary = absl::StrCat(path, ".XXXXXX");
  const Descriptor file(mkostemp(temporary.data(), O_CLOEXEC));
  if (!file.is_open()) {
    return FileError(errno, absl::StrCat("cannot create ", path));
  }
  absl::Status status = WriteFull(file.number(), bytes, path);
  if (status.ok() && (fchmod(file.number(), NewFileMode()) != 0 ||
                      rename(temporary.c_str(), path.c_str()) != 0)) {
    status = FileError(errno, absl::StrCat("cannot create ", path));
  }
  if (!status.ok()) unlink(temporary.c_str());
  return status;
}

}  // namespace

absl::Status FileError(int error, absl::string_view what) {
  return absl::FailedPreconditionError(
      absl::StrCat(what, ": ", std::strerror(error)));
}

absl::StatusOr<Descriptor> OpenForReading(const std::string& path) {
  const int file = path == kStandardFile
                       ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0)
                       : open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file >= 0) return Descriptor(file);
  return FileError(errno, absl::StrCat("cannot read ", path));
}

std::optional<std::uint64_t> RegularFileSize(int file) {
  struct stat about;
  // Standard input may stand somewhere behind the file's begin.
  if (fstat(file, &about) != 0 || !S_ISREG(about.st_mode) ||
      lseek(file, 0, SEEK_CUR) != 0) {
    return std::nullopt;
  }
  return static_cast<std::uint64_t>(about.st_size);
}

absl::Status ReadFull(int file, std::span<std::byte> bytes,
                      const std::function<void(std::uint64_t)>& progress) {
  std::uint64_t done = 0;
  while (done < bytes.size()) {
    const ssize_t count =
        read(file, bytes.data() + done,
             std::min<std::uint64_t>(kPieceBytes, bytes.size() - done));
    if (count == 0) {
      return absl::FailedPreconditionError(
          absl::StrCat("the file ended after ", done, " of its ", bytes.size(),
                       " bytes: it was cut while it was read"));
    }
    if (count < 0 && errno != EINTR) return FileError(errno, "cannot read");
    if (count < 0) continue;
    done += static_cast<std::uint64_t>(count);
    progress(done);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> ReadUntilEnd(int file) {
  std::string text;
  for (;;) {
    const std::size_t size = text.size();
    text.resize(size + kPieceBytes);
    const ssize_t count = read(file, text.data() + size, kPieceBytes);
    text.resize(size + static_cast<std::size_t>(std::max<ssize_t>(0, count)));
    if (count == 0) return text;
    if (count < 0 && errno != EINTR) return FileError(errno, "cannot read");
  }
}

absl::Status WriteFile(const std::string& path,
                       std::span<const std::byte> bytes) {
  if (path == kStandardFile) {
    return WriteFull(STDOUT_FILENO, bytes, "to standard output");
  }
  std::error_code error;
  const std::filesystem::file_status there =
      std::filesystem::status(path, error);
  if (std::filesystem::exists(there) &&
      !std::filesystem::is_regular_file(there)) {
    const Descriptor file(open(path.c_str(), O_WRONLY | O_CLOEXEC));
    if (!file.is_open()) {
      return FileError(errno, absl::StrCat("cannot write ", path));
    }
    return WriteFull(file.number(), bytes, path);
  }
  // Through symbolic links, to the file that they stand for.
  const std::filesystem::path real =
      std::filesystem::weakly_canonical(path, error);
  return ReplaceFile(error ? path : real.string(), bytes);
}

}  // namespace hoplite::cli
