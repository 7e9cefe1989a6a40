#include "hoplite/cli/files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <vector>

#include "hoplite/base/testing/status_matchers.h"
#include "hoplite/cli/temporary_folder.h"

namespace hoplite::cli {
namespace {

using ::testing::HasSubstr;

std::span<const std::byte> BytesOf(absl::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

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
  std::vector<std::uint64_t> steps;
  EXPECT_THAT(ReadFull(file.number(), bytes,
                       [&](std::uint64_t to) { steps.push_back(to); }),
              IsOk());
  EXPECT_GT(steps.size(), 1);
  EXPECT_EQ(steps.back(), text.size());
  EXPECT_EQ(bytes.back(), std::byte{'x'});
}

TEST_F(FilesTest, AFileThatBecameShorterIsAnError) {
  ASSERT_THAT(WriteFile(Path("a"), BytesOf("12345")), IsOk());
  const Descriptor file = OpenForReading(Path("a")).value();
  std::vector<std::byte> bytes(6);
  EXPECT_THAT(ReadFull(file.number(), bytes, [](std::uint64_t) {}),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("after 5 of its 6 bytes")));
}

TEST_F(FilesTest, APipeHasNoSizeAndIsReadUntilItsEnd) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const Descriptor reader(ends[0]);
  Descriptor writer(ends[1]);
  ASSERT_EQ(write(writer.number(), "abc", 3), 3);
  writer.Close();
  EXPECT_FALSE(RegularFileSize(reader.number()).has_value());
  EXPECT_THAT(ReadUntilEnd(reader.number()), IsOkAndHolds("abc"));
}

TEST_F(FilesTest, AFileReadFromItsMiddleHasNoSize) {
  ASSERT_THAT(WriteFile(Path("a"), BytesOf("12345")), IsOk());
  const Descriptor file = OpenForReading(Path("a")).value();
  ASSERT_EQ(lseek(file.number(), 2, SEEK_SET), 2);
  EXPECT_FALSE(RegularFileSize(file.number()).has_value());
  EXPECT_THAT(ReadUntilEnd(file.number()), IsOkAndHolds("345"));
}

}  // namespace
}  // namespace hoplite::cli
