// Files as a command line names them: read into an object, written from one.
//
// "-" is standard input or output. A result goes to a temporary file beside
// its own, which it then becomes: a command that fails, or that a signal ends,
// leaves no half file. Reading may have to wait, which ends at a deadline.
//
// Thread safety: none; one thread at a time.
// Units: bytes.

#ifndef HOPLITE_CLI_FILES_H_
#define HOPLITE_CLI_FILES_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "hoplite/testbed/descriptor.h"

namespace hoplite::cli {

using testbed::Descriptor;

// Standard input, or output.
inline constexpr absl::string_view kStandardFile = "-";

// kFailedPrecondition, "what: why", where `error` is of errno.
absl::Status FileError(int error, absl::string_view what);

// A pipe may not have a writer yet. Errors: as FileError, naming the path; a
// folder is one.
absl::StatusOr<Descriptor> OpenForReading(const std::string& path);

// None where it is no regular file, or is read from its middle: then its size
// is known only at its end.
std::optional<std::uint64_t> RegularFileSize(int file);

// Hears of each piece that is read.
using TakePiece = std::function<void(std::span<const std::byte>)>;

// Fills `bytes` from a file that has so many. Errors: as FileError, also where
// the file ends before or goes on behind; kDeadlineExceeded.
absl::Status ReadFull(int file, std::span<std::byte> bytes, absl::Time deadline,
                      const TakePiece& take);

// Reads a file that has so many bytes, and keeps none. Errors: as ReadFull.
absl::Status ReadThrough(int file, std::uint64_t size, absl::Time deadline,
                         const TakePiece& take);

// All that comes until the end. Errors: as FileError; kDeadlineExceeded;
// kResourceExhausted: more than `most` bytes came.
absl::StatusOr<std::string> ReadUntilEnd(int file, std::uint64_t most,
                                         absl::Time deadline);

// Whether WriteFile can succeed, before there is anything to write.
// Errors: as FileError, naming the path.
absl::Status CheckWritable(const std::string& path);

// Writes all of `bytes` to `path`; a file that is there keeps its mode. What
// is there and no regular file (a pipe, a device) is written to as it stands.
// Errors: as FileError, naming the path.
absl::Status WriteFile(const std::string& path,
                       std::span<const std::byte> bytes);

}  // namespace hoplite::cli

#endif  // HOPLITE_CLI_FILES_H_
