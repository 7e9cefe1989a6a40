// EventRecorder writes the log of a node (hoplite/wire/event_log.h) to a file.
//
// Each record is handed to the system at once, so a process that is killed
// leaves all of its steps. A log that has reached its limit, or cannot be
// written any more, says so once in the process's own log and ends there; the
// node goes on.
//
// Thread safety: none; one thread at a time.
// Units: bytes.

#ifndef HOPLITE_RUNTIME_EVENT_RECORDER_H_
#define HOPLITE_RUNTIME_EVENT_RECORDER_H_

#include <cstdint>
#include <fstream>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "hoplite/wire/event_log.h"

namespace hoplite {

// Some hours of a busy node; whoever replays a log holds all of it.
inline constexpr std::uint64_t kLogBytesMax = std::uint64_t{1} << 30;

class EventRecorder {
 public:
  // A file that is there already is replaced.
  // Errors: kInvalidArgument, naming the file, where it cannot be written.
  static absl::StatusOr<std::unique_ptr<EventRecorder>> Create(
      const std::string& path, std::uint64_t bytes_max = kLogBytesMax);

  void Add(const LogRecord& record);

 private:
  EventRecorder(std::string path, std::uint64_t bytes_max);

  const std::string path_;
  const std::uint64_t bytes_max_;
  std::ofstream file_;  // closed where the log has ended
  std::uint64_t bytes_ = 0;
};

}  // namespace hoplite

#endif  // HOPLITE_RUNTIME_EVENT_RECORDER_H_
