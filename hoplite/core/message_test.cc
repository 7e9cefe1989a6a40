#include "hoplite/core/message.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <set>
#include <string>
#include <utility>
#include <variant>

#include "absl/strings/string_view.h"
#include "hoplite/core/testing/values.h"

namespace hoplite {
namespace {

using ::testing::HasSubstr;
using testing::Id;
using testing::MemberOf;
using testing::PutOf;
using testing::Ref;
using ::testing::StartsWith;

template <std::size_t... kIndices>
std::set<std::string> Names(std::index_sequence<kIndices...>) {
  std::set<std::string> names;
  for (const Message& message : {Message(std::in_place_index<kIndices>)...}) {
    const std::string text = DebugString(message);
    names.insert(text.substr(0, text.find(' ')));
  }
  return names;
}

TEST(MessageTest, EveryKindPrintsItsOwnName) {
  constexpr std::size_t kKinds = std::variant_size_v<Message>;
  const std::set<std::string> names = Names(std::make_index_sequence<kKinds>());
  EXPECT_EQ(names.size(), kKinds);
  EXPECT_FALSE(names.contains(""));
}

TEST(MessageTest, PrintsWhatIdentifiesIt) {
  struct Case {
    Message message;
    absl::string_view text;
  };
  const ShardRef at{ShardId(7), Epoch(3)};
  const std::string object = Id(1).ToHex().substr(0, 8);
  const Case cases[] = {
      {message::MemberJoined{MemberOf(4)}, "MemberJoined member=4#4"},
      {message::MemberLost{Ref(4)}, "MemberLost member=4#4"},
      {message::Leave{}, "Leave"},
      {message::MapUpdate{{{at, Ref(2)}}}, "MapUpdate assignments=[7@3>2#2 ]"},
      {message::CloseShards{{at}}, "CloseShards shards=[7@3 ]"},
      {message::StaleEpoch{{at, Ref(2)}}, "StaleEpoch newer=7@3>2#2"},
      {message::Ask{.at = at, .ask = AskNumber(5), .lost = Ref(9)},
       "Ask at=7@3 object=00000000 ask=5 held=0/0.0 begin=0 lost=9#9"},
      {message::GrantInline{.at = at, .payload = MakePayload("four")},
       "payload=4B"},
      {message::GrantInline{.at = at}, "payload=none"},
      {message::Refusal{.at = at,
                        .code = absl::StatusCode::kNotFound,
                        .reason = "it was deleted"},
       "code=NOT_FOUND reason=it was deleted"},
      {message::PutBegun{.at = at, .generation = PutOf(2), .sealed = true},
       "generation=2/2.1 size=0 sealed=1 streams=0"},
      {message::ReduceAsk{.at = at, .count = 2, .op = ReduceOp::kMax},
       "count=2 op=max type=f32"},
      {message::SourceNews{.entries = {{.state = message::SourceState::kGone}}},
       "entries=[00000000=3 ]"},
      {message::Assignment{.at = at,
                           .position = 4,
                           .inputs = {{.position = 3, .member = Ref(6)}}},
       "inputs=[3<6#6 ]"},
      {message::EvictAsk{{{at, Id(1), PutOf(2)}}}, "EvictAsk entries=["},
  };
  for (const Case& c : cases) {
    EXPECT_THAT(DebugString(c.message), HasSubstr(std::string(c.text)));
  }
  EXPECT_THAT(DebugString(Message(message::Release{Id(1)})),
              StartsWith("Release target=" + object));
}

TEST(MessageTest, PayloadsAreComparedByTheirBytes) {
  const auto with = [](Payload payload) {
    return message::GrantInline{.object = Id(1), .payload = std::move(payload)};
  };
  EXPECT_EQ(with(MakePayload("a")), with(MakePayload("a")));
  EXPECT_FALSE(with(MakePayload("a")) == with(MakePayload("b")));
  EXPECT_FALSE(with(MakePayload("")) == with(nullptr))
      << "an object of no bytes is not no object";
  EXPECT_EQ(with(nullptr), with(nullptr));
}

TEST(MessageTest, EveryFieldCounts) {
  const message::PutBegun put{.object = Id(1), .size = 4};
  message::PutBegun other = put;
  EXPECT_EQ(put, other);
  other.streams = true;
  EXPECT_FALSE(put == other);
  other = put;
  other.payload = MakePayload("four");
  EXPECT_FALSE(put == other);
  const message::SourceEntry entry{.object = Id(1)};
  message::SourceEntry changed = entry;
  EXPECT_EQ(entry, changed);
  changed.state = message::SourceState::kGone;
  EXPECT_FALSE(entry == changed);
  changed = entry;
  changed.holder = Ref(3);
  EXPECT_FALSE(entry == changed);
}

}  // namespace
}  // namespace hoplite
