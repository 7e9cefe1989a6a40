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
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "hoplite/base/status_macros.h"
#include "hoplite/cli/undo_at_signal.h"

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

// Through symbolic links, to the file that they stand for.
std::filesystem::path RealPath(const std::string& path) {
  std::error_code error;
  const auto real = std::filesystem::weakly_canonical(path, error);
  return error ? std::filesystem::path(path) : real;
}

std::string FolderOf(const std::filesystem::path& path) {
  const std::string folder = path.parent_path().string();
  return folder.empty() ? "." : folder;
}

// Writes beside `path` and then takes its place.
absl::Status ReplaceFile(const std::filesystem::path& path,
                         std::span<const std::byte> bytes) {
  const std::string failed = absl::StrCat("cannot create ", path.string());
  struct stat there;
  const mode_t mode = stat(path.c_str(), &there) == 0 ? there.st_mode & ALLPERMS
                                                      : NewFileMode();
  // A name of its own: the other may be as long as names can be.
  std::string temporary = absl::StrCat(FolderOf(path), "/.hoplite-XXXXXX");
  const UndoAtSignal undo([&temporary] { unlink(temporary.c_str()); });
  const Descriptor file(mkostemp(temporary.data(), O_CLOEXEC));
  if (!file.is_open()) return FileError(errno, failed);
  absl::Status status = WriteFull(file.number(), bytes, path.string());
  if (status.ok() && (fchmod(file.number(), mode) != 0 ||
                      rename(temporary.c_str(), path.c_str()) != 0)) {
    status = FileError(errno, failed);
  }
  if (!status.ok()) unlink(temporary.c_str());
  return status;
}

// What comes next, at most a piece; 0 at the end.
absl::StatusOr<std::size_t> ReadPiece(int file, std::span<std::byte> bytes,
                                      absl::Time deadline) {
  for (;;) {
    if (absl::Now() >= deadline ||
        !testbed::WaitUntilReadable(file, deadline)) {
      return absl::DeadlineExceededError(
          "not read within the timeout: the end has not come");
    }
    const ssize_t count =
        read(file, bytes.data(), std::min(kPieceBytes, bytes.size()));
    if (count >= 0) return static_cast<std::size_t>(count);
    if (errno != EINTR && errno != EAGAIN) {
      return FileError(errno, "cannot read");
    }
  }
}

absl::Status EndedEarly(std::uint64_t done, std::uint64_t size) {
  return absl::FailedPreconditionError(
      absl::StrCat("the file ended after ", done, " of its ", size,
                   " bytes: it was cut while it was read"));
}

absl::Status ExpectEnd(int file, absl::Time deadline) {
  std::byte more;
  HOPLITE_ASSIGN_OR_RETURN(const std::size_t count,
                           ReadPiece(file, std::span(&more, 1), deadline));
  if (count == 0) return absl::OkStatus();
  return absl::FailedPreconditionError(
      "the file has changed: it became longer while it was read");
}

}  // namespace

absl::Status FileError(int error, absl::string_view what) {
  return absl::FailedPreconditionError(
      absl::StrCat(what, ": ", std::strerror(error)));
}

absl::StatusOr<Descriptor> OpenForReading(const std::string& path) {
  const std::string failed = absl::StrCat("cannot read ", path);
  // Does not wait for the writer of a pipe.
  Descriptor file(path == kStandardFile
                      ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0)
                      : open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat about;
  if (!file.is_open() || fstat(file.number(), &about) != 0) {
    return FileError(errno, failed);
  }
  if (S_ISDIR(about.st_mode)) return FileError(EISDIR, failed);
  return file;
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

absl::Status ReadFull(int file, std::span<std::byte> bytes, absl::Time deadline,
                      const TakePiece& take) {
  std::span<std::byte> rest = bytes;
  while (!rest.empty()) {
    HOPLITE_ASSIGN_OR_RETURN(const std::size_t count,
                             ReadPiece(file, rest, deadline));
    if (count == 0) return EndedEarly(bytes.size() - rest.size(), bytes.size());
    take(rest.first(count));
    rest = rest.subspan(count);
  }
  return ExpectEnd(file, deadline);
}

absl::Status ReadThrough(int file, std::uint64_t size, absl::Time deadline,
                         const TakePiece& take) {
  std::vector<std::byte> piece(kPieceBytes);
  for (std::uint64_t done = 0; done < size;) {
    const std::span<std::byte> room = std::span(piece).first(
        std::min<std::uint64_t>(kPieceBytes, size - done));
    HOPLITE_ASSIGN_OR_RETURN(const std::size_t count,
                             ReadPiece(file, room, deadline));
    if (count == 0) return EndedEarly(done, size);
    take(room.first(count));
    done += count;
  }
  return ExpectEnd(file, deadline);
}

absl::StatusOr<std::string> ReadUntilEnd(int file, std::uint64_t most,
                                         absl::Time deadline) {
  std::string text;
  for (;;) {
    const std::size_t size = text.size();
    text.resize(size + kPieceBytes);
    HOPLITE_ASSIGN_OR_RETURN(
        const std::size_t count,
        ReadPiece(file, std::as_writable_bytes(std::span(text)).subspan(size),
                  deadline));
    text.resize(size + count);
    if (count == 0) return text;
    if (text.size() > most) {
      return absl::ResourceExhaustedError(absl::StrCat(
          "more than the ", most, " bytes that there is room for"));
    }
  }
}

absl::Status CheckWritable(const std::string& path) {
  if (path == kStandardFile) return absl::OkStatus();
  const std::string failed = absl::StrCat("cannot write ", path);
  struct stat there;
  if (stat(path.c_str(), &there) == 0) {
    if (S_ISDIR(there.st_mode)) return FileError(EISDIR, failed);
    if (access(path.c_str(), W_OK) != 0) return FileError(errno, failed);
    if (!S_ISREG(there.st_mode)) return absl::OkStatus();
  } else if (errno != ENOENT) {
    return FileError(errno, failed);
  }
  if (path.ends_with('/')) return FileError(EISDIR, failed);
  if (access(FolderOf(RealPath(path)).c_str(), W_OK | X_OK) == 0) {
    return absl::OkStatus();
  }
  return FileError(errno, failed);
}

absl::Status WriteFile(const std::string& path,
                       std::span<const std::byte> bytes) {
  if (path == kStandardFile) {
    return WriteFull(STDOUT_FILENO, bytes, "to standard output");
  }
  struct stat there;
  if (stat(path.c_str(), &there) != 0 || S_ISREG(there.st_mode)) {
    return ReplaceFile(RealPath(path), bytes);
  }
  // Does not wait for the reader of a pipe.
  const Descriptor file(open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file.is_open() || fcntl(file.number(), F_SETFL, 0) != 0) {
    return FileError(errno, absl::StrCat("cannot write ", path));
  }
  return WriteFull(file.number(), bytes, path);
}

}  // namespace hoplite::cli
