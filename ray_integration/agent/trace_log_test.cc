#include "ray_integration/agent/trace_log.h"

#include "gtest/gtest.h"

namespace hoplite::task {
namespace {

TEST(TraceLogTest, KeepsWhatCameLastAndCountsTheRest) {
  TraceLog log;
  for (std::size_t i = 0; i < TraceLog::kEntriesMax + 2; ++i) {
    log.Add(WorkerNumber(static_cast<std::uint32_t>(i + 1)), "span");
  }
  EXPECT_EQ(log.Entries().size(), TraceLog::kEntriesMax);
  EXPECT_EQ(log.Entries().front().first, WorkerNumber(3));
  EXPECT_EQ(log.left_out(), 2u);
}

TEST(TraceLogTest, HasABoundInBytesToo) {
  TraceLog log;
  const std::string large(TraceLog::kBytesMax / 4, 's');
  for (int i = 0; i < 5; ++i) log.Add(WorkerNumber(1), large);
  EXPECT_EQ(log.Entries().size(), 4u);
  EXPECT_EQ(log.left_out(), 1u);
}

}  // namespace
}  // namespace hoplite::task
