// Nodes that say nothing: cut off, standing still, or not where they should be.

#include <csignal>
#include <cstdint>
#include <iostream>
#include <set>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "hoplite/api/hoplite.h"
#include "hoplite/base/testing/status_matchers.h"
#include "tests/cases/cases_cluster.h"
#include "tests/cases/process_cluster.h"

namespace hoplite {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;

constexpr std::uint64_t kLink = 100'000'000;  // bits per second
constexpr std::uint64_t kSize = 16 << 20;
// What the pages promise at the default limits.
constexpr absl::Duration kDetectedWithin = absl::Seconds(10);

// C5. dask/distributed#2524, #5678, #6159: connections that were cut without a
// word were never given up.
TEST(SilentNodeCaseTest, ANodeThatIsCutOffIsMissedAndComesBack) {
  ProcessCluster cluster(4, kLink);
  const ObjectId id = NewId();
  ASSERT_THAT(cluster[1].Put(id, Pattern(kSize, 1), kPatiently), IsOk());
  const Future<Buffer> get = cluster[2].GetAsync(id, kPatiently);
  ASSERT_TRUE(Eventually([&] {
    return cluster.Report(2).counters.payload_bytes_received >= kSize / 4;
  }));
  // One in the middle of a transfer, and one with nothing to do.
  for (const int node : {1, 3}) {
    ASSERT_THAT(cluster.hosts().testbed().CutLink(node), IsOk());
  }
  const absl::Time cut = absl::Now();
  EXPECT_THAT(get.Get(), StatusIs(absl::StatusCode::kDataLoss));
  EXPECT_LT(absl::Now() - cut, kDetectedWithin);
  EXPECT_TRUE(cluster.AwaitMembers(0, 2));
  EXPECT_LT(absl::Now() - cut, kDetectedWithin);
  for (const int node : {1, 3}) {
    ASSERT_THAT(cluster.hosts().testbed().RestoreLink(node), IsOk());
  }
  EXPECT_TRUE(cluster.AwaitMembers(0, 4));
  for (const int node : {1, 3}) {
    cluster.Reconnect(node);
    EXPECT_TRUE(cluster.AwaitMembers(node, 4));
    const ObjectId next = NewId();
    ASSERT_THAT(cluster[node].Put(next, Pattern(kSize, node), kPatiently),
                IsOk());
    const auto got = cluster[2].Get(next, kPatiently);
    ASSERT_THAT(got, IsOk());
    EXPECT_TRUE(HasPattern(got->bytes(), node));
  }
}

// C6. pytorch/gloo#520: a peer that was registered and died before anybody
// had called it.
TEST(SilentNodeCaseTest, APeerThatDiedBeforeTheFirstCallIsAnError) {
  constexpr absl::Duration kTimeout = absl::Seconds(2);
  ProcessCluster cluster(3);
  const ObjectId id = NewId();
  ASSERT_THAT(cluster[1].Put(id, Pattern(kSize, 1), kPatiently), IsOk());
  cluster.Kill(1);
  const absl::Time begin = absl::Now();
  // Lost where it came before the verdict, else it waits for the next Put.
  EXPECT_THAT(cluster[2].Get(id, {.timeout = kTimeout}),
              AnyOf(StatusIs(absl::StatusCode::kDataLoss),
                    StatusIs(absl::StatusCode::kDeadlineExceeded)));
  EXPECT_LT(absl::Now() - begin, kTimeout + absl::Seconds(2));
}

// C6. pytorch/gloo#520: a peer whose kernel takes connections and who never
// answers.
TEST(SilentNodeCaseTest, APeerThatNeverAnswersIsAnErrorAtTheDeadline) {
  constexpr absl::Duration kTimeout = absl::Seconds(1);
  ProcessCluster cluster(3);
  const ObjectId id = NewId();
  ASSERT_THAT(cluster[1].Put(id, Pattern(kSize, 1), kPatiently), IsOk());
  ASSERT_THAT(cluster.process(1).Signal(SIGSTOP), IsOk());
  const absl::Time begin = absl::Now();
  EXPECT_THAT(
      cluster[2].Get(id, {.timeout = kTimeout}),
      StatusIs(absl::StatusCode::kDeadlineExceeded,
               AllOf(HasSubstr(id.ToHex()), HasSubstr("node 3"),
                     HasSubstr("remote node"), HasSubstr("at "),
                     HasSubstr("bytes done"), HasSubstr("deadline 1.000s"))));
  EXPECT_GE(absl::Now() - begin, kTimeout);
  EXPECT_LT(absl::Now() - begin, kTimeout + absl::Seconds(2));
  ASSERT_THAT(cluster.process(1).Signal(SIGCONT), IsOk());
}

// C8. dask/distributed#8006: a peer that could not be reached was waited for,
// and nothing said why. Of a node that joins; of one that pulls,
// hoplite/net/tcp_data_bad_server_test.cc.
TEST(SilentNodeCaseTest, WhyTheHeadIsNotReachedIsSaid) {
  // Nobody has this address, and nobody says so.
  constexpr char kNowhere[] = "192.0.2.1";
  CommandRunner hosts(1);
  ASSERT_EQ(
      hosts
          .RunScript(
              0, absl::StrCat("export PATH=$PATH:/usr/sbin:/sbin; "
                              "link=$(ip -o -4 route | sed -n "
                              "'s/.* dev \\([^ ]*\\).*/\\1/p' | head -1); "
                              "ip route add ",
                              kNowhere, " dev $link && ip neigh add ", kNowhere,
                              " lladdr 02:00:00:00:99:99 dev $link"))
          .code,
      0);
  std::set<std::string> errors;
  for (const std::string& head :
       {std::string("127.0.0.1:1"), absl::StrCat(kNowhere, ":7000"),
        std::string("no-such-host.invalid:7000")}) {
    const absl::Time begin = absl::Now();
    const Outcome outcome =
        hosts.Run(0, {"start", "--join=" + head, "--listen=127.0.0.1:0",
                      "--store=1MiB", "--timeout=2s"});
    EXPECT_NE(outcome.code, 0);
    EXPECT_THAT(outcome.error, HasSubstr(head));
    EXPECT_LT(absl::Now() - begin, absl::Seconds(10));
    std::string why = outcome.error;
    absl::StrReplaceAll({{head, "the head"}}, &why);
    errors.insert(why);
    std::cout << outcome.error << std::endl;
  }
  EXPECT_EQ(errors.size(), 3u);
}

// D5. Mesh-LLM/mesh-llm#542: an address that every host has led peers to
// themselves.
TEST(SilentNodeCaseTest, AnAddressThatEveryHostHasIsNotTaken) {
  constexpr char kBridge[] = "172.17.0.1";
  CommandRunner hosts(3);
  for (int host = 0; host < 3; ++host) {
    ASSERT_EQ(hosts
                  .RunScript(host, absl::StrCat("PATH=$PATH:/usr/sbin:/sbin "
                                                "ip address add ",
                                                kBridge, "/16 dev lo"))
                  .code,
              0);
  }
  const RunningNode head =
      hosts.RunNode(0, {"--head", "--listen=0.0.0.0:7000",
                        "--advertise=" + hosts.testbed().address(0)});
  // By itself a node tells others its address on the way to the head, of the
  // family that it listens in; the head's name leads to one of IPv6, too.
  const RunningNode good =
      hosts.RunNode(1, {"--join=host0:7000", "--listen=0.0.0.0:7000"});
  EXPECT_THAT(good.address(), HasSubstr(hosts.testbed().address(1)));
  // This one tells them the address that everybody has.
  const RunningNode bad =
      hosts.RunNode(2, {"--join=host0:7000", "--listen=0.0.0.0:7000",
                        absl::StrCat("--advertise=", kBridge)});
  const ObjectId id = NewId();
  const auto of = [](const RunningNode& node) {
    return Client::Connect(node.started.value("socket", "")).value();
  };
  const auto good_client = of(good);
  const auto bad_client = of(bad);
  ASSERT_THAT(good_client->Put(id, Pattern(kSize, 1), kPatiently), IsOk());
  const auto got = of(head)->Get(id, kPatiently);
  ASSERT_THAT(got, IsOk());
  EXPECT_TRUE(HasPattern(got->bytes(), 1));
  // Whoever calls the bad one reaches itself, and does not take itself for it:
  // no bytes, no wrong ones either, and an end at the deadline.
  const ObjectId hidden = NewId();
  const absl::Status put =
      bad_client->Put(hidden, Pattern(kSize, 2), {.timeout = absl::Seconds(2)});
  const auto never = good_client->Get(hidden, {.timeout = absl::Seconds(2)});
  EXPECT_FALSE(never.ok()) << "put: " << put;
}

}  // namespace
}  // namespace hoplite
