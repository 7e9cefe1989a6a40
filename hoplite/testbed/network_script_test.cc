#include "hoplite/testbed/network_script.h"

#include <cstdint>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace hoplite::testbed {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(NetworkScriptTest, SegmentsAreWholePacketsThatTheBucketHolds) {
  struct Case {
    std::uint64_t bucket_bytes;
    int mtu;
    std::uint64_t segment;
  };
  const Case kCases[] = {
      {.bucket_bytes = 65536, .mtu = 9000, .segment = 63000},
      {.bucket_bytes = 32768, .mtu = 9000, .segment = 27000},
      {.bucket_bytes = 20480, .mtu = 9000, .segment = 18000},
      {.bucket_bytes = 16384, .mtu = 9000, .segment = 9000},
      {.bucket_bytes = 1 << 20, .mtu = 9000, .segment = 65000},
      {.bucket_bytes = SmallestBucket(1500), .mtu = 1500, .segment = 1500},
  };
  for (const Case& c : kCases) {
    SCOPED_TRACE(absl::StrCat("bucket ", c.bucket_bytes, " MTU ", c.mtu));
    EXPECT_EQ(LargestSegment(c.bucket_bytes, c.mtu), c.segment);
    EXPECT_LE(c.segment, c.bucket_bytes);
  }
}

TEST(NetworkScriptTest, NoTwoHostsShareAnAddress) {
  std::set<std::string> addresses;
  for (int host = 0; host < 1000; ++host) {
    addresses.insert(HostAddress(host));
    addresses.insert(HostAddress6(host));
  }
  EXPECT_EQ(addresses.size(), 2000);
  EXPECT_EQ(HostAddress(0), "10.77.0.1");
  EXPECT_EQ(HostAddress(250), "10.77.1.1");
}

TEST(NetworkScriptTest, BothDirectionsOfEachLinkAreShaped) {
  const std::string script = SetUpScript({.hosts = 2,
                                          .link_bits_per_second = 1000000,
                                          .bucket_bytes = 16384,
                                          .queue_bytes = 50000,
                                          .mtu = 9000});
  for (const char* device : {"veth0", "veth1", "eth0"}) {
    EXPECT_THAT(script,
                HasSubstr(absl::StrCat("qdisc add dev ", device,
                                       " root tbf rate 1000000bit burst "
                                       "16384 limit 50000\n")));
  }
}

TEST(NetworkScriptTest, LinksWithoutARateAreNotShaped) {
  const std::string script =
      SetUpScript({.hosts = 2, .bucket_bytes = 16384, .mtu = 9000});
  EXPECT_THAT(script, Not(HasSubstr("tbf")));
}

}  // namespace
}  // namespace hoplite::testbed
