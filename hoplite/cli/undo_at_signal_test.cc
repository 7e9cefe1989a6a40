#include "hoplite/cli/undo_at_signal.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <iostream>

#include "hoplite/cli/temporary_folder.h"

namespace hoplite::cli {
namespace {

[[noreturn]] void EndBy(int number) {
  kill(getpid(), number);
  for (;;) pause();
}

TEST(UndoAtSignalTest, TheNewestIsUndoneFirstAndThenTheProcessEnds) {
  const auto end = [] {
    UndoAtSignal::Watch();
    const UndoAtSignal first([] { std::cerr << "first"; });
    {
      const UndoAtSignal gone([] { std::cerr << "gone"; });
    }
    const UndoAtSignal second([] { std::cerr << "second "; });
    EndBy(SIGTERM);
  };
  EXPECT_EXIT(end(), testing::KilledBySignal(SIGTERM), "^second first$");
}

TEST(UndoAtSignalTest, ATemporaryFolderGoesAtASignal) {
  const auto end = [] {
    UndoAtSignal::Watch();
    const auto folder = TemporaryFolder::Create();
    const UndoAtSignal last([] { std::cerr << "undone"; });
    std::filesystem::create_directory((*folder)->path() + "/inner");
    const UndoAtSignal check([] { std::cerr << "there "; });
    EndBy(SIGHUP);
  };
  EXPECT_EXIT(end(), testing::KilledBySignal(SIGHUP), "there undone");
}

}  // namespace
}  // namespace hoplite::cli
