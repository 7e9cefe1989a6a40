#include "hoplite/runtime/event_recorder.h"

#include <fstream>
#include <iterator>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "hoplite/base/testing/status_matchers.h"

namespace hoplite {
namespace {

std::string Contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(EventRecorderTest, EachRecordIsInTheFileAtOnce) {
  const std::string path = testing::TempDir() + "/each.log";
  const auto recorder = EventRecorder::Create(path);
  ASSERT_THAT(recorder, IsOk());
  const LogRecord record = log_record::TimeoutHandled{.now = absl::UnixEpoch()};
  std::string expected(kLogMagic);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(Contents(path), expected);
    (*recorder)->Add(record);
    ASSERT_TRUE(AppendLogRecord(record, expected));
  }
  EXPECT_EQ(Contents(path), expected);
}

TEST(EventRecorderTest, ALogEndsAtItsLimit) {
  const std::string path = testing::TempDir() + "/limit.log";
  const auto recorder = EventRecorder::Create(path, 100);
  ASSERT_THAT(recorder, IsOk());
  for (int i = 0; i < 20; ++i) (*recorder)->Add(log_record::TimeoutHandled{});
  const std::string log = Contents(path);
  EXPECT_LE(log.size(), 100u);
  EXPECT_GT(log.size(), 50u);
}

TEST(EventRecorderTest, AFileThatCannotBeWrittenIsNamed) {
  const std::string path = testing::TempDir() + "/no/such/folder/log";
  EXPECT_THAT(EventRecorder::Create(path),
              StatusIs(absl::StatusCode::kInvalidArgument));
}

}  // namespace
}  // namespace hoplite
