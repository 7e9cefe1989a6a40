#include "hoplite/core/event.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <set>
#include <string>
#include <utility>
#include <variant>

#include "absl/strings/string_view.h"
#include "hoplite/base/id_prefix.h"
#include "hoplite/core/testing/values.h"

namespace hoplite {
namespace {

using ::testing::HasSubstr;
using testing::Id;
using testing::PutOf;
using testing::Ref;

template <std::size_t... kIndices>
std::set<std::string> Names(std::index_sequence<kIndices...>) {
  std::set<std::string> names;
  for (const Event& event : {Event(std::in_place_index<kIndices>)...}) {
    const std::string text = DebugString(event);
    names.insert(text.substr(0, text.find(' ')));
  }
  return names;
}

TEST(EventTest, EveryKindPrintsItsOwnName) {
  constexpr std::size_t kKinds = std::variant_size_v<Event>;
  const std::set<std::string> names = Names(std::make_index_sequence<kKinds>());
  EXPECT_EQ(names.size(), kKinds);
  EXPECT_FALSE(names.contains(""));
}

TEST(EventTest, PrintsWhatHappened) {
  struct Case {
    Event event;
    absl::string_view text;
  };
  const Case cases[] = {
      {event::GetRequested{RequestId(3), Id(1)},
       "GetRequested request=3 object=00000001 deadline=never"},
      {event::PutRequested{.payload = MakePayload("four"), .streams = true},
       "payload=4B streams=1"},
      {event::ReduceRequested{.sources = {Id(1), Id(2)},
                              .op = ReduceOp::kBitOr,
                              .type = DataType::kU8},
       "sources=[00000001 00000002 ] count=0 op=bor type=u8"},
      {event::MessageReceived{Ref(2), message::Leave{}},
       "MessageReceived from=2#2 message={Leave}"},
      {event::LatencyMeasured{absl::Microseconds(30)}, "latency=30us"},
      {event::PrefixEnded{IdPrefix::Of(Id(1))},
       "PrefixEnded prefix=00000001000000000000000000000000"},
      {event::BufferRefused{BufferId(4), 99, {BufferId(1)}},
       "BufferRefused buffer=4 capacity=99 evictable=[1 ]"},
      {event::PullRequested{.pull = PullId(1),
                            .peer = Ref(2),
                            .key = {Id(1), 6},
                            .generation = PutOf(3)},
       "pull=1 peer=2#2 key=00000001/6 generation=3/3.1"},
      {event::PullRequested{.key = {Id(1)}}, "key=00000001 generation"},
      {event::TransferFailed{TransferId(1), 7, true}, "received=7 refused=1"},
  };
  for (const Case& c : cases) {
    EXPECT_THAT(DebugString(c.event), HasSubstr(std::string(c.text)));
  }
}

TEST(PullKeyTest, AWholeObjectIsNoOutput) {
  EXPECT_FALSE(PullKey{Id(1)}.is_output());
  EXPECT_TRUE((PullKey{Id(1), 0}).is_output());
  EXPECT_LT((PullKey{Id(1), 9}), PullKey{Id(1)}) << "outputs come first";
  EXPECT_LT(PullKey{Id(1)}, (PullKey{Id(2), 0}));
}

}  // namespace
}  // namespace hoplite
