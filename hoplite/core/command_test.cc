#include "hoplite/core/command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <set>
#include <string>
#include <utility>
#include <variant>

#include "absl/strings/string_view.h"
#include "hoplite/core/testing/commands.h"
#include "hoplite/core/testing/values.h"

namespace hoplite {
namespace {

using ::testing::HasSubstr;
using testing::Id;
using ::testing::IsEmpty;
using testing::Ref;
using ::testing::SizeIs;

template <std::size_t... kIndices>
std::set<std::string> Names(std::index_sequence<kIndices...>) {
  std::set<std::string> names;
  for (const Command& command : {Command(std::in_place_index<kIndices>)...}) {
    const std::string text = DebugString(command);
    names.insert(text.substr(0, text.find(' ')));
  }
  return names;
}

TEST(CommandTest, EveryKindPrintsItsOwnName) {
  constexpr std::size_t kKinds = std::variant_size_v<Command>;
  const std::set<std::string> names = Names(std::make_index_sequence<kKinds>());
  EXPECT_EQ(names.size(), kKinds);
  EXPECT_FALSE(names.contains(""));
}

TEST(CommandTest, PrintsWhatToDo) {
  struct Case {
    Command command;
    absl::string_view text;
  };
  const Case cases[] = {
      {command::Send{Ref(2), message::Leave{}}, "Send to=2#2 message={Leave}"},
      {command::CreateBuffer{BufferId(3), 9, nullptr},
       "CreateBuffer buffer=3 size=9 payload=none"},
      {command::ReleaseBuffer{BufferId(3), true}, "buffer=3 failed=1"},
      {command::StartTransfer{.transfer = TransferId(1),
                              .key = {.object = Id(1)},
                              .server = Ref(4)},
       "key=00000001 generation=0/0.0 begin=0 size=0 frame_bytes=0 server=4#4"},
      {command::StartFold{.inputs = {{.position = 2, .member = Ref(3)}}},
       "inputs=[2<3#3 ]"},
      {command::FoldPayloads{.payloads = {MakePayload("ab"), nullptr}},
       "payloads=[2B none ]"},
      {command::AnswerRequest{.request = RequestId(1),
                              .code = absl::StatusCode::kDataLoss,
                              .detail = "it was lost"},
       "AnswerRequest request=1 code=DATA_LOSS detail=it was lost"},
  };
  for (const Case& c : cases) {
    EXPECT_THAT(DebugString(c.command), HasSubstr(std::string(c.text)));
  }
}

// The helpers that the other tests of the core stand on.
TEST(CommandsOfTestsTest, FindsCommandsAndMessages) {
  const Commands out = {
      command::Send{Ref(2), message::Release{Id(1)}},
      command::CancelFold{FoldId(4)},
      command::Send{Ref(3), message::Release{Id(2)}},
      command::Send{Ref(3), message::Leave{}},
  };
  EXPECT_EQ(testing::Only<command::CancelFold>(out)->fold, FoldId(4));
  EXPECT_FALSE(testing::Only<command::Send>(out).has_value());
  EXPECT_FALSE(testing::Only<command::CancelTransfer>(out).has_value());
  EXPECT_THAT(testing::All<command::Send>(out), SizeIs(3));
  EXPECT_THAT(testing::Sent<message::Release>(out), SizeIs(2));
  EXPECT_EQ(testing::OnlySent<message::Release>(out, Ref(3))->target, Id(2));
  EXPECT_FALSE(testing::OnlySent<message::Release>(out).has_value());
  EXPECT_THAT(testing::Sent<message::Leave>(out, Ref(2)), IsEmpty());
  EXPECT_THAT(testing::Texts(out), SizeIs(4));
  EXPECT_EQ(testing::Texts(out)[1], "CancelFold fold=4");
}

TEST(ValuesOfTestsTest, IdsAreInTheShardsThatWereAskedFor) {
  for (std::uint32_t shard : {0u, 7u, 255u}) {
    EXPECT_EQ(testing::IdIn(shard).shard(), ShardId(shard));
    EXPECT_EQ(testing::IdIn(shard, 2).shard(), ShardId(shard));
    EXPECT_NE(testing::IdIn(shard), testing::IdIn(shard, 2));
  }
}

}  // namespace
}  // namespace hoplite
