// Runs one fuzzer over its corpus, built like any other test: what was found
// once stays mended, with each compiler and sanitizer.

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include "tests/fuzz/fuzz_input.h"

namespace hoplite::fuzz {
namespace {

TEST(CorpusTest, EveryInputIsHandled) {
  const char* const folder = std::getenv("HOPLITE_CORPUS");
  ASSERT_NE(folder, nullptr);
  int inputs = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    SCOPED_TRACE(entry.path());
    std::ifstream file(entry.path(), std::ios::binary);
    const std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
    EXPECT_EQ(
        LLVMFuzzerTestOneInput(
            reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()),
        0);
    ++inputs;
  }
  EXPECT_GT(inputs, 0) << folder;
  LLVMFuzzerTestOneInput(nullptr, 0);
}

}  // namespace
}  // namespace hoplite::fuzz
