#include "hoplite/wire/event_log.h"

#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "hoplite/base/payload.h"
#include "hoplite/core/command.h"
#include "hoplite/core/config.h"
#include "hoplite/core/event.h"

namespace hoplite {
namespace {

constexpr NodeRef kSelf{NodeId(5), Incarnation(7)};

template <std::size_t... kIndices>
std::vector<Event> EveryEvent(std::index_sequence<kIndices...>) {
  return {Event(std::in_place_index<kIndices>)...};
}
template <std::size_t... kIndices>
Commands EveryCommand(std::index_sequence<kIndices...>) {
  return {Command(std::in_place_index<kIndices>)...};
}

std::string LogOf(const std::vector<LogRecord>& records) {
  std::string log(kLogMagic);
  for (const LogRecord& record : records) {
    EXPECT_TRUE(AppendLogRecord(record, log));
  }
  return log;
}

// All that the log says before it ends or makes no sense.
std::vector<LogRecord> RecordsOf(absl::string_view log, absl::Status& status) {
  std::vector<LogRecord> records;
  LogReader reader(log);
  for (;;) {
    absl::StatusOr<std::optional<LogRecord>> next = reader.Next();
    status = next.status();
    if (!next.ok() || !next->has_value()) return records;
    records.push_back(**std::move(next));
  }
}

LogRecord OnlyRecordOf(const std::vector<LogRecord>& records) {
  absl::Status status;
  const std::vector<LogRecord> read = RecordsOf(LogOf(records), status);
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_EQ(read.size(), 1u);
  return read.empty() ? LogRecord() : read.front();
}

TEST(EventLogTest, EveryKindOfEventAndCommandComesBack) {
  const std::vector<Event> events =
      EveryEvent(std::make_index_sequence<std::variant_size_v<Event>>());
  const Commands commands =
      EveryCommand(std::make_index_sequence<std::variant_size_v<Command>>());
  for (const Event& event : events) {
    const LogRecord read = OnlyRecordOf(
        {log_record::EventHandled{.event = event, .commands = commands}});
    const auto& step = std::get<log_record::EventHandled>(read);
    EXPECT_EQ(DebugString(step.event), DebugString(event));
    EXPECT_TRUE(SameCommands(step.commands, commands));
  }
}

TEST(EventLogTest, TimesComeBackToTheTick) {
  const absl::Duration quarter = absl::Nanoseconds(1) / 4;
  for (const absl::Time now :
       {absl::InfiniteFuture(), absl::UnixEpoch(), absl::UnixEpoch() - quarter,
        absl::FromUnixSeconds(1'800'000'000) + 3 * quarter}) {
    const LogRecord read =
        OnlyRecordOf({log_record::TimeoutHandled{.now = now}});
    EXPECT_EQ(std::get<log_record::TimeoutHandled>(read).now, now);
  }
}

TEST(EventLogTest, ALifeBeginsWithItsWholeConfiguration) {
  NodeConfig config{.self = kSelf,
                    .is_head = true,
                    .cluster = ClusterId(9),
                    .seed = 11,
                    .schedule = Schedule::kPlain,
                    .members = {{kSelf, "here:1", "here:2"}},
                    .store_capacity = 1 << 20,
                    .returns = true,
                    .dead_after = absl::Milliseconds(1500)};
  config.shard_map.Apply(
      {.at = {ShardId(3), Epoch(2)}, .host = kSelf, .rebuilds = true});
  const LogRecord record = OnlyRecordOf({log_record::LifeBegun{config}});
  const NodeConfig& read = std::get<log_record::LifeBegun>(record).config;
  EXPECT_EQ(read.self, config.self);
  EXPECT_EQ(read.is_head, config.is_head);
  EXPECT_EQ(read.cluster, config.cluster);
  EXPECT_EQ(read.seed, config.seed);
  EXPECT_EQ(read.schedule, config.schedule);
  EXPECT_EQ(read.members, config.members);
  EXPECT_EQ(read.shard_map, config.shard_map);
  EXPECT_EQ(read.store_capacity, config.store_capacity);
  EXPECT_EQ(read.returns, config.returns);
  EXPECT_EQ(read.dead_after, config.dead_after);
}

TEST(EventLogTest, CommandsThatDifferInAPayloadsByteAreNotTheSame) {
  const auto create = [](std::string bytes) {
    return Commands{
        command::CreateBuffer{BufferId(1), bytes.size(), MakePayload(bytes)}};
  };
  EXPECT_TRUE(SameCommands(create("a"), create("a")));
  EXPECT_FALSE(SameCommands(create("a"), create("b")));
  EXPECT_FALSE(SameCommands(create("a"), {}));
}

TEST(EventLogTest, ALogMayBeCutOffAnywhere) {
  const std::string log =
      LogOf({log_record::TimeoutHandled{.now = absl::UnixEpoch()},
             log_record::EventHandled{.event = event::PeerLost{kSelf}}});
  for (std::size_t length = kLogMagic.size(); length < log.size(); ++length) {
    absl::Status status;
    const auto records =
        RecordsOf(absl::string_view(log).substr(0, length), status);
    EXPECT_TRUE(status.ok()) << status;
    EXPECT_LT(records.size(), 2u);
  }
}

TEST(EventLogTest, GarbageIsAnErrorAndNoLengthIsBelieved) {
  const auto status_of = [](std::string record) {
    const std::string log = std::string(kLogMagic) + record;
    absl::Status status;
    RecordsOf(log, status);
    return status.code();
  };
  constexpr auto kGarbage = absl::StatusCode::kInvalidArgument;
  absl::Status status;
  RecordsOf("HOPLOG\0\3", status);
  EXPECT_EQ(status.code(), kGarbage) << "another version";
  EXPECT_EQ(status_of("\xff\xff\xff\xff"), kGarbage) << "a length above all";
  EXPECT_EQ(status_of(std::string("\1\0\0\0\x03", 5)), kGarbage)
      << "no such kind of record";
  // A timeout with 2^32 - 1 commands, of which none is there.
  std::string step(1, '\2');
  step += std::string(12, '\0') + "\xff\xff\xff\xff";
  EXPECT_EQ(status_of(std::string("\x11\0\0\0", 4) + step), kGarbage);
}

}  // namespace
}  // namespace hoplite
