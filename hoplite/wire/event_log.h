// The log of a node: its configuration, and each step of its machine with the
// commands that came of it. Replayed, the same steps give the same commands.
//
//   log    = magic:8 record*
//   record = length:4 body          the body by field_writer.h
//
// A log may hold several lives of one node; each begins with its
// configuration. A record that was cut off, where its node was killed, ends
// the log.
//
// Not responsible for: files (hoplite/runtime/event_recorder.h); carrying out
// the replay (hoplite/runtime/replay.h).
// Thread safety: functions are thread-safe; a reader belongs to one thread.
// Units: bytes.

#ifndef HOPLITE_WIRE_EVENT_LOG_H_
#define HOPLITE_WIRE_EVENT_LOG_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "hoplite/core/command.h"
#include "hoplite/core/config.h"
#include "hoplite/core/event.h"

namespace hoplite::log_record {

struct LifeBegun {
  NodeConfig config;
};
// Node::Handle(now, event), and what it ordered.
struct EventHandled {
  absl::Time now;
  Event event;
  Commands commands;
};
// Node::HandleTimeout(now), and what it ordered.
struct TimeoutHandled {
  absl::Time now;
  Commands commands;
};

}  // namespace hoplite::log_record

namespace hoplite {

using LogRecord = std::variant<log_record::LifeBegun, log_record::EventHandled,
                               log_record::TimeoutHandled>;

// "HOPLOG", and the version of all that follows.
inline constexpr absl::string_view kLogMagic("HOPLOG\0\2", 8);
// A longer record is garbage: a step has a message of at most 1 MiB, and
// commands of some times that.
inline constexpr std::uint32_t kLogRecordBytesMax = 64 << 20;

// Appends the record. False, and nothing appended, where it is above the limit.
bool AppendLogRecord(const LogRecord& record, std::string& log);

// True where the two are the same to the last byte.
bool SameCommands(const Commands& a, const Commands& b);

class LogReader {
 public:
  // Ownership: `log` outlives the reader.
  explicit LogReader(absl::string_view log) : rest_(log) {}

  // The next record; nullopt at the end, also in the middle of a record.
  // Errors: kInvalidArgument: no log, one of another version, or garbage.
  absl::StatusOr<std::optional<LogRecord>> Next();

 private:
  absl::string_view rest_;
  bool begun_ = false;
};

}  // namespace hoplite

#endif  // HOPLITE_WIRE_EVENT_LOG_H_
