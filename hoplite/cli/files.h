// Files as a command line names them: read into an object, written from one.
//
// "-" is standard input or output. A result goes to a temporary file beside
// its own, which it then becomes: a command that fails leaves no half file.
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
#include "hoplite/testbed/descriptor.h"

namespace hoplite::cli {

using testbed::Descriptor;

// Standard input, or output.
inline constexpr absl::string_view kStandardFile = "-";

// kFailedPrecondition, "what: why", where `error` is of errno.
absl::Status FileError(int error, absl::string_view what);

// Errors: as FileError, naming the path.
absl::StatusOr<Descriptor> OpenForReading(const std::string& path);

// None where it is no regular file, or is read from its middle: then its size
// is known only at its end.
std::optional<std::uint64_t> RegularFileSize(int file);

// Fills `bytes` from the file; `progress` hears after each piece how many are
// there. Errors: as FileError, also where the file ends before.
absl::Status ReadFull(int file, std::span<std::byte> bytes,
                      const std::function<void(std::uint64_t)>& progress);

// All that comes until the end. Errors: as FileError.
absl::StatusOr<std::string> ReadUntilEnd(int file);

// Writes all of `bytes` to `path`. What is there and no regular file (a pipe,
// a device) is written to as it stands.
// Errors: as FileError, naming the path.
absl::Status WriteFile(const std::string& path,
                       std::span<const std::byte> bytes);

}  // namespace hoplite::cli

#endif  // HOPLITE_CLI_FILES_H_
