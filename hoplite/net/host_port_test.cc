#include "hoplite/net/host_port.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace hoplite {
namespace {

TEST(HostPortTest, TakesNamesAndAddressesApart) {
  struct Case {
    std::string text;
    HostPort parsed;
  };
  const std::vector<Case> cases = {
      {"node-3:7000", {.host = "node-3", .port = 7000}},
      {"10.0.0.3:0", {.host = "10.0.0.3", .port = 0}},
      {"[::1]:7000", {.host = "::1", .port = 7000}},
      {"[fe80::1%eth0]:65535", {.host = "fe80::1%eth0", .port = 65535}},
      {"localhost:80", {.host = "localhost", .port = 80}},
  };
  for (const Case& one : cases) {
    SCOPED_TRACE(one.text);
    const auto parsed = HostPort::Parse(one.text);
    ASSERT_TRUE(parsed.ok()) << parsed.status();
    EXPECT_EQ(*parsed, one.parsed);
    EXPECT_EQ(parsed->ToString(), one.text);
  }
}

// hpcaitech/ColossalAI#2199: an IPv6 address was split at the wrong colon.
TEST(HostPortTest, SaysWhatIsWrongWithTheRest) {
  struct Case {
    std::string text;
    std::string reason;
  };
  const std::vector<Case> cases = {
      {"::1", "brackets"},
      {"fdbd::55:29500", "brackets"},
      {"fe80::1%eth0", "brackets"},
      {"", "no colon"},
      {"host", "no colon"},
      {":7000", "host is missing"},
      {"host:", "port is missing"},
      {"host:65536", "above 65535"},
      {"host:99999999999999999999", "above 65535"},
      {"host:-1", "not a number"},
      {"host:7000x", "not a number"},
      {"[::1]", "follow the bracket"},
      {"[::1]7000", "follow the bracket"},
      {"[node]:7000", "no IPv6 address"},
      {"[]:7000", "no IPv6 address"},
      {"tcp://host:7000", "brackets"},
      {"a/b:7000", "no slash"},
      {"a b:7000", "no slash, blank"},
  };
  for (const Case& one : cases) {
    SCOPED_TRACE(one.text);
    const absl::Status status = HostPort::Parse(one.text).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_NE(status.message().find(one.reason), absl::string_view::npos)
        << status;
  }
}

TEST(HostPortTest, KnowsTheKindsOfHosts) {
  const HostPort four{.host = "10.0.0.3", .port = 1};
  const HostPort six{.host = "fe80::1%eth0", .port = 1};
  const HostPort name{.host = "node", .port = 1};
  EXPECT_TRUE(four.is_ipv4() && !four.is_ipv6());
  EXPECT_TRUE(six.is_ipv6() && !six.is_ipv4());
  EXPECT_TRUE(!name.is_ipv4() && !name.is_ipv6());
  EXPECT_FALSE(four.is_wildcard() || six.is_wildcard() || name.is_wildcard());
  EXPECT_TRUE((HostPort{.host = "0.0.0.0", .port = 1}).is_wildcard());
  EXPECT_TRUE((HostPort{.host = "::", .port = 1}).is_wildcard());
}

}  // namespace
}  // namespace hoplite
