#include "hoplite/cli/files.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <numeric>
#include <vector>

#include "absl/time/clock.h"
#include "hoplite/base/testing/status_matchers.h"
#include "hoplite/cli/temporary_folder.h"

namespace hoplite::cli {
namespace {

using ::testing::HasSubstr;

std::span<const std::byte> BytesOf(absl::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

absl::Time Later() { return absl::Now() + absl::Minutes(1); }

class FilesTest : public ::testing::Test {
 protected:
  std::string Path(const std::string& name) const {
    return folder_->path() + "/" + name;
  }
  static std::string Content(const std::string& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  std::size_t FileCount() const {
    return static_cast<std::size_t>(std::distance(
        std::filesystem::directory_iterator(folder_->path()), {}));
  }

  const std::unique_ptr<TemporaryFolder> folder_ =
      TemporaryFolder::Create().value();
};

TEST_F(FilesTest, AFileIsWrittenAndNothingElseIsLeft) {
  EXPECT_THAT(WriteFile(Path("a"), BytesOf("old")), IsOk());
  EXPECT_THAT(WriteFile(Path("a"), BytesOf("new")), IsOk());
  EXPECT_EQ(Content(Path("a")), "new");
  EXPECT_EQ(FileCount(), 1);
}

TEST_F(FilesTest, ANewFileMayBeReadByWhomTheMaskAllows) {
  const mode_t mask = umask(022);
  EXPECT_THAT(WriteFile(Path("a"), BytesOf("")), IsOk());
  umask(mask);
  struct stat about;
  ASSERT_EQ(stat(Path("a").c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 0777, 0644);
}

TEST_F(FilesTest, ALinkStaysALink) {
  EXPECT_THAT(WriteFile(Path("a"), BytesOf("old")), IsOk());
  std::filesystem::create_symlink(Path("a"), Path("link"));
  EXPECT_THAT(WriteFile(Path("link"), BytesOf("new")), IsOk());
  EXPECT_TRUE(std::filesystem::is_symlink(Path("link")));
  EXPECT_EQ(Content(Path("a")), "new");
}

TEST_F(FilesTest, ADeviceIsWrittenToAndNotReplaced) {
  EXPECT_THAT(WriteFile("/dev/null", BytesOf("gone")), IsOk());
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
  EXPECT_THAT(WriteFile("/dev/full", BytesOf("x")),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("No space left")));
}

TEST_F(FilesTest, AFolderThatIsNotThereIsNamed) {
  EXPECT_THAT(WriteFile(Path("none/a"), BytesOf("x")),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr(Path("none/a"))));
  EXPECT_THAT(OpenForReading(Path("none")),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("No such file")));
}

TEST_F(FilesTest, ReadingTellsHowFarItIs) {
  const std::string text(3'000'000, 'x');
  ASSERT_THAT(WriteFile(Path("a"), BytesOf(text)), IsOk());
  const Descriptor file = OpenForReading(Path("a")).value();
  ASSERT_EQ(RegularFileSize(file.number()), text.size());
  std::vector<std::byte> bytes(text.size());
  std::vector<std::size_t> pieces;
  const TakePiece take = [&](std::span<const std::byte> piece) {
    pieces.push_back(piece.size());
  };
  EXPECT_THAT(ReadFull(file.number(), bytes, Later(), take), IsOk());
  EXPECT_GT(pieces.size(), 1);
  EXPECT_EQ(std::accumulate(pieces.begin(), pieces.end(), std::size_t{0}),
            text.size());
  EXPECT_EQ(bytes.back(), std::byte{'x'});
  ASSERT_EQ(lseek(file.number(), 0, SEEK_SET), 0);
  std::size_t through = 0;
  EXPECT_THAT(ReadThrough(file.number(), text.size(), Later(),
                          [&](auto piece) { through += piece.size(); }),
              IsOk());
  EXPECT_EQ(through, text.size());
}

TEST_F(FilesTest, AFileThatBecameShorterIsAnError) {
  ASSERT_THAT(WriteFile(Path("a"), BytesOf("12345")), IsOk());
  const Descriptor file = OpenForReading(Path("a")).value();
  std::vector<std::byte> bytes(6);
  EXPECT_THAT(ReadFull(file.number(), bytes, Later(), [](auto) {}),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("after 5 of its 6 bytes")));
}

TEST_F(FilesTest, AFileThatBecameLongerIsAnError) {
  ASSERT_THAT(WriteFile(Path("a"), BytesOf("12345")), IsOk());
  const Descriptor file = OpenForReading(Path("a")).value();
  std::vector<std::byte> bytes(4);
  EXPECT_THAT(ReadFull(file.number(), bytes, Later(), [](auto) {}),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("longer while it was read")));
}

TEST_F(FilesTest, WhatHasNoEndIsReadUpToALimit) {
  const Descriptor file = OpenForReading("/dev/zero").value();
  EXPECT_THAT(ReadUntilEnd(file.number(), 100, Later()),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("100")));
  EXPECT_THAT(ReadUntilEnd(file.number(), 100, absl::InfinitePast()),
              StatusIs(absl::StatusCode::kDeadlineExceeded));
}

TEST_F(FilesTest, APipeWithoutItsOtherEndIsNotWaitedForLongerThanAsked) {
  ASSERT_EQ(mkfifo(Path("pipe").c_str(), 0600), 0);
  const Descriptor file = OpenForReading(Path("pipe")).value();
  EXPECT_THAT(
      ReadUntilEnd(file.number(), 100, absl::Now() + absl::Milliseconds(50)),
      StatusIs(absl::StatusCode::kDeadlineExceeded));
  const Descriptor writer(open(Path("pipe").c_str(), O_WRONLY));
  ASSERT_EQ(write(writer.number(), "abc", 3), 3);
  EXPECT_THAT(ReadUntilEnd(file.number(), 2, Later()),
              StatusIs(absl::StatusCode::kResourceExhausted));
  ASSERT_EQ(mkfifo(Path("other").c_str(), 0600), 0);
  EXPECT_THAT(WriteFile(Path("other"), BytesOf("x")),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr(Path("other"))));
}

TEST_F(FilesTest, WhatCannotBeWrittenIsKnownBefore) {
  const auto refused = [&](const std::string& path) {
    EXPECT_THAT(
        CheckWritable(path),
        StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr(path)));
  };
  refused(folder_->path());
  refused(Path("none/a"));
  refused(Path("none/"));
  refused(Path(std::string(300, 'x')));
  for (const char* name : {"a", "-"}) {
    EXPECT_THAT(CheckWritable(Path(name)), IsOk());
  }
  EXPECT_THAT(CheckWritable("-"), IsOk());
  EXPECT_THAT(CheckWritable("/dev/null"), IsOk());
  EXPECT_EQ(FileCount(), 0);
}

TEST_F(FilesTest, AFileKeepsItsModeAndMayHaveALongName) {
  const std::string path = Path(std::string(250, 'x'));
  ASSERT_THAT(WriteFile(path, BytesOf("old")), IsOk());
  ASSERT_EQ(chmod(path.c_str(), 0751), 0);
  ASSERT_THAT(WriteFile(path, BytesOf("new")), IsOk());
  struct stat about;
  ASSERT_EQ(stat(path.c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 07777, 0751);
  EXPECT_EQ(FileCount(), 1);
}

TEST_F(FilesTest, APipeHasNoSizeAndIsReadUntilItsEnd) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const Descriptor reader(ends[0]);
  Descriptor writer(ends[1]);
  ASSERT_EQ(write(writer.number(), "abc", 3), 3);
  writer.Close();
  EXPECT_FALSE(RegularFileSize(reader.number()).has_value());
  EXPECT_THAT(ReadUntilEnd(reader.number(), 3, Later()), IsOkAndHolds("abc"));
}

TEST_F(FilesTest, AFileReadFromItsMiddleHasNoSize) {
  ASSERT_THAT(WriteFile(Path("a"), BytesOf("12345")), IsOk());
  const Descriptor file = OpenForReading(Path("a")).value();
  ASSERT_EQ(lseek(file.number(), 2, SEEK_SET), 2);
  EXPECT_FALSE(RegularFileSize(file.number()).has_value());
  EXPECT_THAT(ReadUntilEnd(file.number(), 3, Later()), IsOkAndHolds("345"));
}

}  // namespace
}  // namespace hoplite::cli
