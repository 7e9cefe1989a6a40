#include "hoplite/runtime/socket_folder.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "hoplite/base/testing/status_matchers.h"

namespace hoplite {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class SocketFolderTest : public ::testing::Test {
 protected:
  SocketFolderTest() {
    std::string path = absl::StrCat(
        std::filesystem::temp_directory_path().string(), "/hopliteXXXXXX");
    root_ = mkdtemp(path.data());
    setenv("XDG_RUNTIME_DIR", root_.c_str(), 1);
    unsetenv("HOPLITE_NODE");
  }
  ~SocketFolderTest() override { std::filesystem::remove_all(root_); }

  std::string Path(absl::string_view name) const {
    return absl::StrCat(SocketFolder(), "/", name);
  }

  std::string root_;
};

TEST_F(SocketFolderTest, WhoListensIsFound) {
  const auto listener = ListenAtSocket(Path("one.sock"));
  ASSERT_THAT(listener, IsOk());
  EXPECT_THAT(FindLiveSockets(SocketFolder()), ElementsAre(Path("one.sock")));
  EXPECT_THAT(FindNodeSocket(), IsOkAndHolds(Path("one.sock")));
  EXPECT_THAT(ConnectToSocket(Path("one.sock")), IsOk());
}

TEST_F(SocketFolderTest, TheFolderIsForItsUserOnly) {
  ASSERT_THAT(ListenAtSocket(Path("one.sock")), IsOk());
  using std::filesystem::perms;
  EXPECT_EQ(std::filesystem::status(SocketFolder()).permissions(),
            perms::owner_all);
  EXPECT_EQ(std::filesystem::status(Path("one.sock")).permissions(),
            perms::owner_read | perms::owner_write);
}

TEST_F(SocketFolderTest, WithoutANodeTheErrorSaysHowToStartOne) {
  EXPECT_THAT(FindLiveSockets(SocketFolder()), IsEmpty());
  EXPECT_THAT(FindNodeSocket(), StatusIs(absl::StatusCode::kUnavailable,
                                         HasSubstr("hoplite start")));
}

TEST_F(SocketFolderTest, SeveralNodesAreNamed) {
  const auto one = ListenAtSocket(Path("one.sock"));
  const auto two = ListenAtSocket(Path("two.sock"));
  ASSERT_THAT(two, IsOk());
  EXPECT_THAT(FindNodeSocket(), StatusIs(absl::StatusCode::kFailedPrecondition,
                                         HasSubstr(Path("two.sock"))));
  setenv("HOPLITE_NODE", Path("two.sock").c_str(), 1);
  EXPECT_THAT(FindNodeSocket(), IsOkAndHolds(Path("two.sock")));
}

TEST_F(SocketFolderTest, WhatADeadNodeLeftIsRemovedAndMayBeTakenAgain) {
  { ASSERT_THAT(ListenAtSocket(Path("dead.sock")), IsOk()); }
  { ASSERT_THAT(ListenAtSocket(Path("taken.sock")), IsOk()); }
  ASSERT_TRUE(std::filesystem::exists(Path("dead.sock")));
  const auto again = ListenAtSocket(Path("taken.sock"));
  ASSERT_THAT(again, IsOk());
  EXPECT_THAT(FindLiveSockets(SocketFolder()), ElementsAre(Path("taken.sock")));
  EXPECT_FALSE(std::filesystem::exists(Path("dead.sock")));
}

TEST_F(SocketFolderTest, ALiveSocketIsNotTaken) {
  const auto listener = ListenAtSocket(Path("one.sock"));
  EXPECT_THAT(
      ListenAtSocket(Path("one.sock")),
      StatusIs(absl::StatusCode::kAlreadyExists, HasSubstr(Path("one.sock"))));
  EXPECT_THAT(ConnectToSocket(Path("one.sock")), IsOk());
}

TEST_F(SocketFolderTest, WhatIsNoSocketIsLeftAlone) {
  std::filesystem::create_directory(SocketFolder());
  std::ofstream(Path("notes.txt")) << "mine";
  EXPECT_THAT(FindLiveSockets(SocketFolder()), IsEmpty());
  EXPECT_TRUE(std::filesystem::exists(Path("notes.txt")));
}

TEST_F(SocketFolderTest, NothingButADeadSocketIsReplaced) {
  std::filesystem::create_directory(SocketFolder());
  std::ofstream(Path("notes.txt")) << "mine";
  std::filesystem::create_symlink(Path("notes.txt"), Path("link"));
  std::filesystem::create_symlink(Path("none"), Path("loose"));
  for (const char* name : {"notes.txt", "link", "loose"}) {
    EXPECT_THAT(
        ListenAtSocket(Path(name)),
        StatusIs(absl::StatusCode::kUnavailable, HasSubstr(Path(name))));
    EXPECT_TRUE(
        std::filesystem::exists(std::filesystem::symlink_status(Path(name))));
  }
  EXPECT_TRUE(std::filesystem::is_regular_file(Path("notes.txt")));
}

TEST_F(SocketFolderTest, APathThatIsTooLongIsRefused) {
  EXPECT_THAT(
      ListenAtSocket(Path(std::string(200, 'x'))),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("shorter")));
  EXPECT_THAT(ConnectToSocket(Path(std::string(200, 'x'))),
              StatusIs(absl::StatusCode::kInvalidArgument));
}

}  // namespace
}  // namespace hoplite
