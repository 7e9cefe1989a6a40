// What the hosts' network carries, and at what rate. A bound on time is always
// a lower one: a busy machine may be as slow as it likes.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "hoplite/testbed/relay_chain.h"
#include "hoplite/testbed/test_support.h"
#include "hoplite/testbed/testbed.h"

namespace hoplite::testbed {
namespace {

constexpr std::uint64_t kBitsPerSecond = 100'000'000;
constexpr std::uint64_t kBucketBytes = 65536;
constexpr std::uint64_t kMessageBytes = 2 << 20;

// The first bucket is free, all else comes at the rate, give or take the
// kernel's rounding of it.
absl::Duration LeastTime(std::uint64_t bytes) {
  return 0.98 * absl::Seconds(8.0 * static_cast<double>(bytes - kBucketBytes) /
                              static_cast<double>(kBitsPerSecond));
}

std::string PortAfter(absl::string_view answer) {
  EXPECT_TRUE(absl::ConsumePrefix(&answer, "port ")) << answer;
  return std::string(answer);
}

std::int64_t TimeAfter(absl::string_view answer) {
  EXPECT_TRUE(absl::ConsumePrefix(&answer, "time ")) << answer;
  std::int64_t time = 0;
  EXPECT_TRUE(absl::SimpleAtoi(answer, &time)) << answer;
  return time;
}

// A member on each of two hosts, with a connection between them.
struct Pair {
  std::unique_ptr<HostProcess> first;
  std::unique_ptr<HostProcess> last;
};

Pair Connect(Testbed& testbed, int from, int to, absl::string_view address) {
  Pair pair = {.first = StartMember(testbed, from),
               .last = StartMember(testbed, to)};
  const std::string port = PortAfter(Ask(*pair.last, "listen"));
  EXPECT_EQ(Ask(*pair.first, absl::StrCat("connect ", address, " ", port)),
            "connected");
  EXPECT_EQ(Ask(*pair.last, "accept"), "accepted");
  return pair;
}

TEST(TestbedNetworkTest, HostsReachEachOtherByNameAndInBothFamilies) {
  const auto testbed = MakeTestbed({.hosts = 2});
  ASSERT_NE(testbed, nullptr);
  for (const std::string& address :
       {testbed->name(1), testbed->address(1), testbed->address6(1)}) {
    SCOPED_TRACE(address);
    const Pair pair = Connect(*testbed, 0, 1, address);
    EXPECT_EQ(Ask(*pair.last, "relay 1000"), "ready");
    TimeAfter(Ask(*pair.first, "relay 1000"));
    EXPECT_TRUE(pair.last->ReadLine(Soon()).ok());
  }
}

TEST(TestbedNetworkTest, AHostReachesItself) {
  const auto testbed = MakeTestbed({.hosts = 1});
  ASSERT_NE(testbed, nullptr);
  for (const std::string& address :
       {testbed->name(0), testbed->address(0), testbed->address6(0),
        std::string("127.0.0.1"), std::string("localhost")}) {
    SCOPED_TRACE(address);
    Connect(*testbed, 0, 0, address);
  }
}

TEST(TestbedNetworkTest, ATransferTakesAtLeastWhatTheRateAllows) {
  const auto testbed = MakeTestbed({.hosts = 3,
                                    .link_bits_per_second = kBitsPerSecond,
                                    .bucket_bytes = kBucketBytes});
  ASSERT_NE(testbed, nullptr);
  const auto chain = RelayChain::Create(*testbed, RelayProgram());
  ASSERT_TRUE(chain.ok()) << chain.status();
  for (const bool add : {false, true}) {
    const auto time = (*chain)->Relay(kMessageBytes, add);
    ASSERT_TRUE(time.ok()) << time.status();
    EXPECT_GE(*time, LeastTime(kMessageBytes));
  }
  const auto rate = (*chain)->MeasureRate();
  ASSERT_TRUE(rate.ok()) << rate.status();
  EXPECT_GT(rate->bits_per_second, 0);
  EXPECT_LE(rate->bits_per_second, 1.02 * kBitsPerSecond);
  EXPECT_EQ(rate->congestion_control, testbed->congestion_control());
}

// The two streams come over two links and leave by a third: only its shape in
// the direction to the host can hold them back.
TEST(TestbedNetworkTest, TheLinkToAHostIsShapedToo) {
  const auto testbed = MakeTestbed({.hosts = 3,
                                    .link_bits_per_second = kBitsPerSecond,
                                    .bucket_bytes = kBucketBytes});
  ASSERT_NE(testbed, nullptr);
  const std::string command = absl::StrCat("relay ", kMessageBytes);
  std::vector<Pair> pairs;
  for (int from : {0, 1}) {
    pairs.push_back(Connect(*testbed, from, 2, testbed->address(2)));
    EXPECT_EQ(Ask(*pairs.back().last, command), "ready");
  }
  for (const Pair& pair : pairs) {
    ASSERT_TRUE(pair.first->WriteLine(command).ok());
  }
  std::vector<std::int64_t> begins;
  std::vector<std::int64_t> ends;
  for (const Pair& pair : pairs) {
    begins.push_back(TimeAfter(pair.first->ReadLine(Soon()).value_or("")));
    ends.push_back(TimeAfter(pair.last->ReadLine(Soon()).value_or("")));
  }
  EXPECT_GE(absl::Nanoseconds(*std::ranges::max_element(ends) -
                              *std::ranges::min_element(begins)),
            LeastTime(2 * kMessageBytes));
}

TEST(TestbedNetworkTest, TheCongestionControlIsTheOneAskedFor) {
  const auto testbed = MakeTestbed({.hosts = 2, .congestion_control = "reno"});
  ASSERT_NE(testbed, nullptr);
  EXPECT_EQ(testbed->congestion_control(), "reno");
  for (const std::string& address :
       {testbed->address(1), testbed->address6(1)}) {
    const auto server = StartMember(*testbed, 1);
    const auto client = StartMember(*testbed, 0);
    const std::string port = PortAfter(Ask(*server, "serve"));
    const std::string rate =
        Ask(*client, absl::StrCat("measure ", address, " ", port));
    EXPECT_TRUE(absl::EndsWith(rate, " reno")) << rate;
  }
}

TEST(TestbedNetworkTest, ACutLinkCarriesNothingUntilItIsRestored) {
  const auto testbed = MakeTestbed({.hosts = 2});
  ASSERT_NE(testbed, nullptr);
  const Pair pair = Connect(*testbed, 0, 1, testbed->address(1));
  EXPECT_EQ(Ask(*pair.last, "relay 1000"), "ready");
  ASSERT_TRUE(testbed->CutLink(1).ok());
  ASSERT_TRUE(testbed->CutLink(1).ok());
  TimeAfter(Ask(*pair.first, "relay 1000"));
  EXPECT_EQ(
      pair.last->ReadLine(absl::Now() + absl::Milliseconds(20)).status().code(),
      absl::StatusCode::kDeadlineExceeded);
  ASSERT_TRUE(testbed->RestoreLink(1).ok());
  TimeAfter(pair.last->ReadLine(Soon()).value_or(""));
}

}  // namespace
}  // namespace hoplite::testbed
