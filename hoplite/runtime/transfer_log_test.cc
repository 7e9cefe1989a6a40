#include "hoplite/runtime/transfer_log.h"

#include <gtest/gtest.h>

#include "hoplite/base/digest.h"

namespace hoplite {
namespace {

NodeRef Ref(std::uint32_t node) {
  return {.node = NodeId(node), .incarnation = Incarnation(node)};
}

absl::Time At(int second) { return absl::FromUnixSeconds(second); }

command::StartTransfer Pull(std::uint64_t number, std::uint64_t begin = 0) {
  return {.transfer = TransferId(number),
          .buffer = BufferId(1),
          .key = {.object = IdFromName("weights")},
          .begin = begin,
          .size = 1000,
          .server = Ref(3)};
}

TEST(TransferLogTest, KeepsATransferOnceItHasEnded) {
  TransferLog log;
  log.Saw(At(1), Command(Pull(7)));
  EXPECT_TRUE(log.Records().empty());
  log.Saw(At(4), Event(event::TransferDone{.transfer = TransferId(7)}));
  log.Saw(At(5), Event(event::TransferDone{.transfer = TransferId(7)}));

  ASSERT_EQ(log.Records().size(), 1u);
  const TransferRecord record = log.Records().front();
  EXPECT_EQ(record.object, IdFromName("weights"));
  EXPECT_EQ(record.server, Ref(3));
  EXPECT_EQ(record.bytes, 1000u);
  EXPECT_EQ(record.started, At(1));
  EXPECT_EQ(record.ended, At(4));
  EXPECT_FALSE(record.failed);
}

TEST(TransferLogTest, CountsOfABrokenOneTheBytesThatCameWithIt) {
  TransferLog log;
  log.Saw(At(1), Command(Pull(7, /*begin=*/400)));
  log.Saw(At(2), Event(event::TransferFailed{.transfer = TransferId(7),
                                             .received = 600}));
  ASSERT_EQ(log.Records().size(), 1u);
  EXPECT_TRUE(log.Records().front().failed);
  EXPECT_EQ(log.Records().front().bytes, 200u);
}

TEST(TransferLogTest, HasOneForEachInputThatAFoldPulls) {
  TransferLog log;
  log.Saw(At(1), Command(command::StartFold{
                     .fold = FoldId(2),
                     .target = IdFromName("sum"),
                     .inputs = {{.member = Ref(4)},
                                {.member = Ref(1), .local = BufferId(9)},
                                {.member = Ref(5)}},
                     .size = 64}));
  log.Saw(At(3), Event(event::FoldDone{.fold = FoldId(2)}));
  const std::vector<TransferRecord> records = log.Records();
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(records[0].server, Ref(4));
  EXPECT_EQ(records[1].server, Ref(5));
  for (const TransferRecord& record : records) {
    EXPECT_EQ(record.object, IdFromName("sum"));
    EXPECT_EQ(record.bytes, 64u);
    EXPECT_TRUE(record.is_input);
  }
}

TEST(TransferLogTest, KeepsTheLastOnesOnly) {
  TransferLog log;
  for (std::uint64_t i = 1; i <= kTransfersKept + 3; ++i) {
    log.Saw(At(static_cast<int>(i)), Command(Pull(i)));
    log.Saw(At(static_cast<int>(i)),
            Event(event::TransferDone{.transfer = TransferId(i)}));
  }
  EXPECT_EQ(log.Records().size(), kTransfersKept);
  EXPECT_EQ(log.Records().front().started, At(4));
}

}  // namespace
}  // namespace hoplite
