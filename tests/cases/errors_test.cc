// What errors say.

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "hoplite/api/hoplite.h"
#include "hoplite/base/testing/status_matchers.h"
#include "tests/cases/cases_cluster.h"

namespace hoplite {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;

constexpr std::uint64_t kSize = 3'000'000;
constexpr CallOptions kBriefly = {.timeout = absl::Milliseconds(200)};

// Operation, object, local node, bytes done, time taken, deadline.
void ExpectComplete(const absl::Status& status, const std::string& operation,
                    const ObjectId& object, const std::string& local) {
  SCOPED_TRACE(status);
  EXPECT_FALSE(status.ok());
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr(absl::StrCat(operation, " of ", object.ToHex(),
                                           " on ", local)),
                    ContainsRegex("[0-9]+ (of [0-9]+ )?bytes done"),
                    ContainsRegex("after [0-9]+\\.[0-9]+s"),
                    HasSubstr("deadline 0.200s")));
}

// Which other node, and where.
void ExpectRemote(const absl::Status& status, const std::string& remote) {
  EXPECT_THAT(std::string(status.message()),
              HasSubstr(absl::StrCat("remote ", remote, " at 127.0.0.1:")));
}

// D10. pytorch/gloo#511: errors of timeouts did not say which rank was waited
// for.
TEST(ErrorCaseTest, EveryErrorSaysWhatWhereAndHowFar) {
  CasesCluster cluster(2, 8 << 20);
  const ObjectId half = NewId();
  auto room = cluster[0].Create(half, kSize, {.timeout = kPatience});
  ASSERT_THAT(room, IsOk());
  FillPattern(room->data(), 1);
  room->Advance(kSize / 2);

  const absl::Status get = cluster[1].Get(half, kBriefly).status();
  ExpectComplete(get, "Get", half, "node 2");
  ExpectRemote(get, "node 1");
  EXPECT_THAT(std::string(get.message()),
              ContainsRegex(absl::StrCat("[1-9][0-9]+ of ", kSize)))
      << "half of it has come";

  const ObjectId none = NewId();
  ExpectComplete(cluster[1].Get(none, kBriefly).status(), "Get", none,
                 "node 2");

  // No room for it beside what is held.
  auto pin = cluster[1].Create(NewId(), 6 << 20, {.timeout = kPatience});
  ASSERT_THAT(pin, IsOk());
  const ObjectId put = NewId();
  ExpectComplete(cluster[1].Put(put, Pattern(kSize, 2), kBriefly), "Put", put,
                 "node 2");

  const ObjectId target = NewId();
  ExpectComplete(
      cluster[1]
          .Reduce(target, {{half, none}}, {.timeout = kBriefly.timeout})
          .status(),
      "Reduce", target, "node 2");

  const ObjectId absent = NewId();
  ExpectComplete(cluster[1].Delete(absent, kBriefly), "Delete", absent,
                 "node 2");

  // What the client's side says of its own.
  const Future<Buffer> cancelled = cluster[1].GetAsync(none, kBriefly);
  cancelled.Cancel();
  EXPECT_THAT(std::string(cancelled.Get().status().message()),
              AllOf(HasSubstr(absl::StrCat("Get of ", none.ToHex(), " on ")),
                    ContainsRegex("after [0-9]+\\.[0-9]+s"),
                    HasSubstr("deadline 0.200s")));
}

}  // namespace
}  // namespace hoplite
