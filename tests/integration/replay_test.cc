// What real nodes have recorded, replayed through the core.

#include "hoplite/runtime/replay.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "hoplite/api/hoplite.h"
#include "hoplite/base/digest.h"
#include "hoplite/base/testing/status_matchers.h"
#include "hoplite/core/node.h"
#include "hoplite/runtime/node_options.h"
#include "hoplite/wire/event_log.h"

namespace hoplite {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr int kNodes = 3;
constexpr CallOptions kPatiently = {.timeout = absl::Seconds(60)};
constexpr std::size_t kSmall = 4 << 10;
constexpr std::size_t kLarge = 1 << 20;

std::string PathOf(int node) {
  return absl::StrCat(testing::TempDir(), "/node-", node, ".log");
}

std::string Contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Each puts a small and a large object; all get all, reduce them, and delete.
void Work(std::vector<std::unique_ptr<Client>>& clients) {
  for (const std::size_t size : {kSmall, kLarge}) {
    const ObjectId target = IdFromName(absl::StrCat("target of ", size));
    std::vector<ObjectId> sources;
    for (int i = 0; i < kNodes; ++i) {
      sources.push_back(IdFromName(absl::StrCat("source ", i, " of ", size)));
      const std::vector<std::byte> bytes(size, std::byte{1});
      ASSERT_THAT(clients[i]->Put(sources[i], bytes, kPatiently), IsOk());
    }
    ASSERT_THAT(clients[1]->Reduce(target, sources,
                                   {.op = ReduceOp::kSum,
                                    .type = DataType::kU8,
                                    .timeout = kPatiently.timeout}),
                IsOk());
    for (const auto& client : clients) {
      const auto sum = client->Get(target, kPatiently);
      ASSERT_THAT(sum, IsOk());
      EXPECT_EQ(sum->bytes().back(), std::byte{kNodes});
      for (const ObjectId& source : sources) {
        EXPECT_THAT(client->Get(source, kPatiently), IsOk());
      }
    }
    EXPECT_THAT(clients[2]->Delete(sources[0], kPatiently), IsOk());
    EXPECT_THAT(clients[0]->Get(sources[0], kPatiently),
                StatusIs(absl::StatusCode::kNotFound));
  }
}

// The logs of a cluster that has worked, and of which one node has left.
const std::vector<std::string>& Logs() {
  static const std::vector<std::string> logs = [] {
    std::vector<std::unique_ptr<Client>> clients;
    std::string head;
    for (int i = 0; i < kNodes; ++i) {
      clients.push_back(
          Client::Embed(
              {.join = head, .store_bytes = 16 << 20, .record = PathOf(i)})
              .value());
      if (i == 0) head = clients[0]->Report()->control_address;
    }
    Work(clients);
    clients.pop_back();
    clients.clear();
    std::vector<std::string> read;
    for (int i = 0; i < kNodes; ++i) read.push_back(Contents(PathOf(i)));
    return read;
  }();
  return logs;
}

// The log, with what `change` has done to its records.
std::string Changed(const std::string& log,
                    const std::function<void(LogRecord&)>& change) {
  std::string changed(kLogMagic);
  LogReader reader(log);
  for (;;) {
    std::optional<LogRecord> record = reader.Next().value();
    if (!record.has_value()) return changed;
    change(*record);
    EXPECT_TRUE(AppendLogRecord(*record, changed));
  }
}

TEST(ReplayTest, ARealNodesLogGivesTheSameCommands) {
  for (const std::string& log : Logs()) {
    const auto report = Replay(log);
    ASSERT_THAT(report, IsOk());
    EXPECT_EQ(report->difference, "");
    EXPECT_EQ(report->lives, 1u);
    EXPECT_GT(report->steps, 50u);
    std::cout << log.size() << " bytes, " << report->steps << " steps\n";
  }
}

// A change of the core would look like this: the same event, another command.
TEST(ReplayTest, ACommandThatDiffersIsFound) {
  bool planted = false;
  std::uint64_t steps = 0;
  const std::string log = Changed(Logs()[1], [&](LogRecord& record) {
    if (!planted && !std::holds_alternative<log_record::LifeBegun>(record)) {
      ++steps;
    }
    auto* const step = std::get_if<log_record::EventHandled>(&record);
    if (planted || step == nullptr) return;
    for (Command& command : step->commands) {
      if (auto* const create = std::get_if<command::CreateBuffer>(&command)) {
        ++create->size;
        planted = true;
        return;
      }
    }
  });
  ASSERT_TRUE(planted);
  const auto report = Replay(log);
  ASSERT_THAT(report, IsOk());
  EXPECT_EQ(report->steps, steps);
  EXPECT_THAT(report->difference,
              AllOf(HasSubstr(absl::StrCat("step ", steps, " of life 1")),
                    HasSubstr("the log has\n    CreateBuffer"),
                    HasSubstr("orders\n    CreateBuffer")));
}

TEST(ReplayTest, AnEventThatIsMissingIsFound) {
  bool planted = false;
  const std::string log = Changed(Logs()[0], [&](LogRecord& record) {
    auto* const step = std::get_if<log_record::EventHandled>(&record);
    if (planted || step == nullptr) return;
    if (!std::holds_alternative<event::PutRequested>(step->event)) return;
    step->event = event::RoomFreed{};
    planted = true;
  });
  ASSERT_TRUE(planted);
  const auto report = Replay(log);
  ASSERT_THAT(report, IsOk());
  EXPECT_THAT(report->difference, HasSubstr("RoomFreed"));
}

TEST(ReplayTest, WhatNoDriverDoesIsAnErrorOfTheLog) {
  const auto refused = [](const std::vector<LogRecord>& records) {
    std::string log(kLogMagic);
    for (const LogRecord& record : records) AppendLogRecord(record, log);
    return Replay(log).status();
  };
  constexpr auto kGarbage = absl::StatusCode::kInvalidArgument;
  const absl::Time now = absl::UnixEpoch();
  const log_record::LifeBegun life{
      {.self = {NodeId(2), Incarnation(2)},
       .members = {{{NodeId(2), Incarnation(2)}, "here:1", "here:2"}}}};
  EXPECT_THAT(refused({log_record::TimeoutHandled{.now = now}}),
              StatusIs(kGarbage))
      << "no configuration";
  EXPECT_THAT(
      refused({life, log_record::TimeoutHandled{.now = now},
               log_record::TimeoutHandled{.now = now - absl::Seconds(1)}}),
      StatusIs(kGarbage))
      << "the time goes back";
  log_record::EventHandled get{
      .now = now,
      .event = event::GetRequested{.request = RequestId(1), .deadline = now}};
  Node(life.config).Handle(now, get.event, get.commands);
  EXPECT_THAT(refused({life, get}), IsOk());
  EXPECT_THAT(refused({life, get, get}), StatusIs(kGarbage))
      << "two requests of one number";
  EXPECT_THAT(Replay("no log").status(), StatusIs(kGarbage));
}

}  // namespace
}  // namespace hoplite
