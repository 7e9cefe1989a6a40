#include "ray_integration/link/frame_reader.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "hoplite/base/random.h"
#include "hoplite/base/testing/status_matchers.h"
#include "hoplite/runtime/socket_folder.h"
#include "ray_integration/link/link.h"

namespace hoplite::task {
namespace {

// The two ends of a stream; the reader's does not block.
class FrameReaderTest : public testing::Test {
 protected:
  FrameReaderTest() {
    std::array<int, 2> ends{};
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()),
              0);
    near_ = FileDescriptor(ends[0]);
    far_ = FileDescriptor(ends[1]);
  }

  void Write(absl::string_view bytes) {
    ASSERT_EQ(send(far_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
  }
  absl::Status Receive() {
    return reader_.Receive(near_.get(), shared_, [&](absl::string_view frame) {
      frames_.emplace_back(frame);
      return frames_.size() < frames_max_;
    });
  }

  FileDescriptor near_;
  FileDescriptor far_;
  std::vector<char> shared_ = std::vector<char>(FrameReader::kSharedBytesMin);
  FrameReader reader_;
  std::vector<std::string> frames_;
  std::size_t frames_max_ = 1'000'000;
};

std::string Framed(absl::string_view content) {
  const FrameHeader header = FrameHeaderOf(content.size());
  return std::string(header.data(), header.size()) + std::string(content);
}

TEST_F(FrameReaderTest, ALengthIsFourBytesTheLowestFirst) {
  EXPECT_EQ(Framed("ab"), std::string("\2\0\0\0ab", 6));
}

TEST_F(FrameReaderTest, NothingThereIsNoError) {
  EXPECT_THAT(Receive(), IsOk());
  EXPECT_TRUE(frames_.empty());
}

TEST_F(FrameReaderTest, OneReadTakesManyFrames) {
  Write(Framed("one") + Framed("") + Framed("three"));
  EXPECT_THAT(Receive(), IsOk());
  EXPECT_EQ(frames_, (std::vector<std::string>{"one", "", "three"}));
}

// Seeds 1 to 20, wherever the stream happens to be cut.
TEST_F(FrameReaderTest, FramesComeWholeHoweverTheStreamIsCut) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    std::vector<std::string> sent;
    std::string stream;
    for (int i = 0; i < 40; ++i) {
      const std::size_t most = i % 8 == 0 ? 200'000 : i % 3 == 0 ? 20'000 : 9;
      sent.emplace_back(random.Below(most), static_cast<char>('a' + i % 26));
      stream += Framed(sent.back());
    }
    frames_.clear();
    absl::string_view rest = stream;
    while (!rest.empty()) {
      const std::size_t most = random.Below(4) == 0 ? 8 : 50'000;
      const std::size_t count =
          std::min<std::size_t>(rest.size(), 1 + random.Below(most));
      Write(rest.substr(0, count));
      rest.remove_prefix(count);
      EXPECT_THAT(Receive(), IsOk());
    }
    while (frames_.size() < sent.size()) ASSERT_THAT(Receive(), IsOk());
    EXPECT_EQ(frames_, sent);
  }
}

TEST_F(FrameReaderTest, AFrameThatIsTooLongEndsTheStreamAfterTheOnesBefore) {
  const std::size_t length = kFrameBytesMax + 1;
  std::string header;
  for (int i = 0; i < 4; ++i) {
    header.push_back(static_cast<char>(length >> (8 * i)));
  }
  Write(Framed("good") + header);
  EXPECT_THAT(Receive(), StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_EQ(frames_, std::vector<std::string>{"good"});
}

TEST_F(FrameReaderTest, WhoTakesNoMoreGetsNoMore) {
  frames_max_ = 1;
  Write(Framed("one") + Framed("two"));
  EXPECT_THAT(Receive(), IsOk());
  EXPECT_EQ(frames_, std::vector<std::string>{"one"});
}

TEST_F(FrameReaderTest, TheEndComesAfterAllFrames) {
  Write(Framed("last") + "\7");
  far_.Close();
  EXPECT_THAT(Receive(), IsOk());
  EXPECT_EQ(frames_, std::vector<std::string>{"last"});
  EXPECT_THAT(Receive(), StatusIs(absl::StatusCode::kUnavailable));
}

}  // namespace
}  // namespace hoplite::task
