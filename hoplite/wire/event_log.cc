#include "hoplite/wire/event_log.h"

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_format.h"
#include "hoplite/core/command_fields.h"
#include "hoplite/core/event_fields.h"
#include "hoplite/core/fields.h"
#include "hoplite/wire/field_reader.h"
#include "hoplite/wire/field_writer.h"

namespace hoplite {

template <>
inline constexpr std::size_t kValueCount<Schedule> =
    static_cast<std::size_t>(Schedule::kPlain) + 1;

HOPLITE_FIELDS(NodeConfig, self, is_head, cluster, seed, schedule, members,
               shard_map, store_capacity, returns, dead_after)

namespace log_record {

HOPLITE_FIELDS(LifeBegun, config)
HOPLITE_FIELDS(EventHandled, now, event, commands)
HOPLITE_FIELDS(TimeoutHandled, now, commands)

}  // namespace log_record

namespace {

constexpr std::size_t kLengthBytes = sizeof(kLogRecordBytesMax);

std::string Encoded(const Commands& commands) {
  std::string bytes;
  wire::FieldWriter writer(&bytes);
  writer(commands);
  return bytes;
}

}  // namespace

bool AppendLogRecord(const LogRecord& record, std::string& log) {
  std::string body;
  wire::FieldWriter write_body(&body);
  write_body(record);
  if (body.size() > kLogRecordBytesMax) return false;
  wire::FieldWriter write(&log);
  write(body);
  return true;
}

bool SameCommands(const Commands& a, const Commands& b) {
  return Encoded(a) == Encoded(b);
}

absl::StatusOr<std::optional<LogRecord>> LogReader::Next() {
  if (!begun_) {
    if (!absl::StartsWith(rest_, kLogMagic)) {
      return absl::InvalidArgumentError(
          "this is no log of a node, or one of another release");
    }
    rest_.remove_prefix(kLogMagic.size());
    begun_ = true;
  }
  if (rest_.size() < kLengthBytes) return std::nullopt;
  std::uint32_t length = 0;
  wire::FieldReader read_length(rest_.substr(0, kLengthBytes));
  read_length(length);
  if (length > kLogRecordBytesMax) {
    return absl::InvalidArgumentError(
        absl::StrFormat("a record of the log has %d bytes, above its limit %d",
                        length, kLogRecordBytesMax));
  }
  if (rest_.size() - kLengthBytes < length) return std::nullopt;
  LogRecord record;
  wire::FieldReader read_body(rest_.substr(kLengthBytes, length));
  read_body(record);
  if (!read_body.done()) {
    return absl::InvalidArgumentError("a record of the log makes no sense");
  }
  rest_.remove_prefix(kLengthBytes + length);
  return record;
}

}  // namespace hoplite
