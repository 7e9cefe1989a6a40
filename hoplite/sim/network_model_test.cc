// The network alone, with streams that always have a frame ready.

#include "hoplite/sim/network_model.h"

#include <gtest/gtest.h>

#include <map>
#include <utility>
#include <vector>

namespace hoplite::sim {
namespace {

constexpr std::uint64_t kFrame = 1000;
constexpr absl::Duration kLatency = absl::Microseconds(50);
// 1000 bytes in 1 ms.
constexpr std::uint64_t kRate = 1'000'000;
constexpr absl::Duration kFrameTime = absl::Milliseconds(1);

// Streams with a number of frames to send; notes when they arrive.
class Streams final : public FrameSource {
 public:
  explicit Streams(const NetworkOptions& options)
      : network_(options, &agenda_, this) {}

  StreamId Open(std::uint32_t from, std::uint32_t to, std::uint64_t frames) {
    const StreamId stream = network_.OpenStream(NodeId(from), NodeId(to));
    left_[stream] = frames;
    network_.Wake(stream);
    return stream;
  }
  void Run() {
    while (agenda_.NextTime().has_value()) agenda_.RunNext();
  }
  const std::vector<absl::Duration>& arrivals(StreamId stream) {
    return arrivals_[stream];
  }
  Agenda& agenda() { return agenda_; }
  NetworkModel& network() { return network_; }
  absl::Duration last_left(StreamId stream) { return last_left_[stream]; }

  std::uint64_t ReadyBytes(StreamId stream) override {
    return left_[stream] > 0 ? kFrame : 0;
  }
  Frame FrameLeaves(StreamId stream) override {
    return Frame{next_[stream]++, --left_[stream] == 0};
  }
  void LastFrameLeft(StreamId stream) override {
    last_left_[stream] = agenda_.now() - absl::UnixEpoch();
  }
  void FrameArrived(StreamId stream, std::uint64_t frame) override {
    EXPECT_EQ(frame, arrivals_[stream].size()) << "out of order";
    arrivals_[stream].push_back(agenda_.now() - absl::UnixEpoch());
  }

 private:
  Agenda agenda_;
  NetworkModel network_;
  std::map<StreamId, std::uint64_t> left_;
  std::map<StreamId, std::uint64_t> next_;
  std::map<StreamId, std::vector<absl::Duration>> arrivals_;
  std::map<StreamId, absl::Duration> last_left_;
};

NetworkOptions Options() {
  NetworkOptions options;
  options.latency = kLatency;
  options.bytes_per_second = kRate;
  return options;
}

TEST(NetworkModelTest, AFrameTakesItsTimeAndTheLatency) {
  Streams streams(Options());
  const StreamId stream = streams.Open(1, 2, 3);
  streams.Run();
  EXPECT_EQ(streams.arrivals(stream),
            (std::vector<absl::Duration>{kFrameTime + kLatency,
                                         2 * kFrameTime + kLatency,
                                         3 * kFrameTime + kLatency}));
  EXPECT_EQ(streams.last_left(stream), 3 * kFrameTime);
  EXPECT_EQ(streams.network().stream_bytes_sent(NodeId(1)), 3 * kFrame);
}

TEST(NetworkModelTest, StreamsOfOneUplinkTakeTurns) {
  Streams streams(Options());
  const StreamId a = streams.Open(1, 2, 10);
  const StreamId b = streams.Open(1, 3, 10);
  streams.Run();
  // Both end together, and neither is ever more than a frame ahead.
  EXPECT_EQ(streams.arrivals(a).back(), 19 * kFrameTime + kLatency);
  EXPECT_EQ(streams.arrivals(b).back(), 20 * kFrameTime + kLatency);
}

TEST(NetworkModelTest, ADownlinkIsSharedBySenders) {
  Streams streams(Options());
  const StreamId a = streams.Open(1, 3, 10);
  const StreamId b = streams.Open(2, 3, 10);
  streams.Run();
  EXPECT_EQ(std::max(streams.arrivals(a).back(), streams.arrivals(b).back()),
            20 * kFrameTime + kLatency);
}

TEST(NetworkModelTest, BothDirectionsOfALinkAreIndependent) {
  Streams streams(Options());
  const StreamId there = streams.Open(1, 2, 10);
  const StreamId back = streams.Open(2, 1, 10);
  streams.Run();
  EXPECT_EQ(streams.arrivals(there).back(), 10 * kFrameTime + kLatency);
  EXPECT_EQ(streams.arrivals(back).back(), 10 * kFrameTime + kLatency);
}

TEST(NetworkModelTest, TheSlowerLinkIsTheLimit) {
  Streams streams(Options());
  streams.network().SetRate(NodeId(2), kRate / 4);
  const StreamId stream = streams.Open(1, 2, 8);
  streams.Run();
  EXPECT_EQ(streams.arrivals(stream).back(), 8 * 4 * kFrameTime + kLatency);
}

TEST(NetworkModelTest, AMessageGoesBeforeTheNextFrameAndInOrder) {
  Streams streams(Options());
  streams.Open(1, 2, 10);
  std::vector<std::pair<int, absl::Duration>> got;
  streams.agenda().After(kFrameTime / 2, [&] {
    for (int i = 0; i < 2; ++i) {
      streams.network().SendControl(NodeId(1), NodeId(2), 100, [&, i] {
        got.emplace_back(i, streams.agenda().now() - absl::UnixEpoch());
      });
    }
  });
  streams.Run();
  ASSERT_EQ(got.size(), 2u);
  EXPECT_EQ(got[0], std::make_pair(0, 1.1 * kFrameTime + kLatency));
  EXPECT_EQ(got[1], std::make_pair(1, 1.2 * kFrameTime + kLatency));
}

TEST(NetworkModelTest, LatenciesOfPairsDifferAndAreTheSameBothWays) {
  NetworkOptions options = Options();
  options.latency_spread = absl::Milliseconds(1);
  Streams streams(options);
  const NetworkModel& network = streams.network();
  EXPECT_EQ(network.Latency(NodeId(1), NodeId(2)),
            network.Latency(NodeId(2), NodeId(1)));
  EXPECT_NE(network.Latency(NodeId(1), NodeId(2)),
            network.Latency(NodeId(1), NodeId(3)));
  for (std::uint32_t node = 2; node < 100; ++node) {
    const absl::Duration latency = network.Latency(NodeId(1), NodeId(node));
    EXPECT_GE(latency, kLatency);
    EXPECT_LT(latency, kLatency + options.latency_spread);
  }
}

TEST(NetworkModelTest, TimesOfLargeSizesDoNotOverflow) {
  EXPECT_EQ(NetworkModel::TimeFor(std::uint64_t{1} << 40, 1 << 20),
            absl::Seconds(1 << 20));
  EXPECT_EQ(NetworkModel::TimeFor(1, 1'000'000'000), absl::Nanoseconds(1));
  EXPECT_EQ(NetworkModel::TimeFor(0, 1), absl::ZeroDuration());
}

}  // namespace
}  // namespace hoplite::sim
