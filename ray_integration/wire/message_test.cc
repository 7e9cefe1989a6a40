#include "ray_integration/wire/message.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <tuple>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "hoplite/base/id.h"
#include "hoplite/base/random.h"
#include "ray_integration/base/process_id.h"
#include "ray_integration/wire/lease_message.h"
#include "ray_integration/wire/pack.h"
#include "ray_integration/wire/task_message.h"
#include "ray_integration/wire/values.h"

namespace hoplite::task {
namespace {

// Gives every field a value of its own, none of them the default.
class Filler {
 public:
  template <Plain T>
  void Fill(T& value) {
    if constexpr (std::is_enum_v<T>) {
      value = LastOf(T());
    } else if constexpr (std::is_same_v<T, bool>) {
      value = true;
    } else {
      value = static_cast<T>(Next());
    }
  }
  void Fill(std::string& text) {
    text = absl::StrCat("text ", Next());
    text.push_back('\0');  // any byte may be in it
  }
  void Fill(ObjectId& id) {
    ProcessId owner;
    Fill(owner);
    id = MakeObjectId(owner, Next());
  }
  void Fill(NodeRef& node) {
    node = {NodeId(Number()), Incarnation(Next() << 40)};
  }
  void Fill(WorkerNumber& worker) { worker = WorkerNumber(Number()); }
  void Fill(ProcessId& process) {
    Fill(process.node);
    Fill(process.worker);
  }
  template <typename A, typename B>
  void Fill(std::pair<A, B>& pair) {
    Fill(pair.first);
    Fill(pair.second);
  }
  template <typename T>
  void Fill(std::vector<T>& list) {
    list.resize(2);
    for (T& one : list) Fill(one);
  }
  template <Packable T>
  void Fill(T& message) {
    std::apply([this](auto&... fields) { (Fill(fields), ...); },
               message.Fields());
  }

 private:
  std::uint64_t Next() { return ++last_; }
  std::uint32_t Number() { return static_cast<std::uint32_t>(Next()); }

  std::uint64_t last_ = 0;
};

template <std::size_t kIndex = 0>
void AddFilled(std::vector<Message>& messages) {
  if constexpr (kIndex < std::variant_size_v<Message>) {
    std::variant_alternative_t<kIndex, Message> one;
    Filler().Fill(one);
    messages.emplace_back(std::move(one));
    AddFilled<kIndex + 1>(messages);
  }
}

std::vector<Message> FilledMessages() {
  std::vector<Message> messages;
  AddFilled(messages);
  return messages;
}

// Stands for a value of any type, to count the members of a struct.
struct Anything {
  template <typename T>
  operator T() const;  // NOLINT: implicit, that is what it is for
};

template <typename T, typename... Members>
constexpr std::size_t MembersOf() {
  if constexpr (requires { T{Members()..., Anything()}; }) {
    return MembersOf<T, Members..., Anything>();
  } else {
    return sizeof...(Members);
  }
}

template <typename T>
void ExpectAllTied() {
  using Fields = decltype(std::declval<T&>().Fields());
  EXPECT_EQ(std::tuple_size_v<Fields>, MembersOf<T>()) << typeid(T).name();
}

template <std::size_t... kIndex>
void ExpectAllMessagesTied(std::index_sequence<kIndex...>) {
  (ExpectAllTied<std::variant_alternative_t<kIndex, Message>>(), ...);
}

TEST(MessageTest, NoMemberIsForgottenWhenItIsSent) {
  ExpectAllMessagesTied(
      std::make_index_sequence<std::variant_size_v<Message>>());
  ExpectAllTied<Endpoint>();
  ExpectAllTied<ReferenceInfo>();
  ExpectAllTied<ErrorInfo>();
  ExpectAllTied<ValueInfo>();
  ExpectAllTied<ArgumentInfo>();
  ExpectAllTied<TaskInfo>();
  ExpectAllTied<ProgramInfo>();
  ExpectAllTied<NodeInfo>();
  ExpectAllTied<message::LeaseArgument>();
  ExpectAllTied<message::Load>();
}

TEST(MessageTest, EveryMessageComesBackAsItWas) {
  for (const Message& message : FilledMessages()) {
    const std::string frame = ToFrame(message);
    const absl::StatusOr<Message> back = FromFrame(frame);
    ASSERT_TRUE(back.ok()) << message.index() << ": " << back.status();
    EXPECT_EQ(back->index(), message.index());
    EXPECT_EQ(ToFrame(*back), frame) << message.index();
  }
}

TEST(MessageTest, EveryEmptyMessageComesBackAsItWas) {
  for (std::size_t kind = 0; kind < std::variant_size_v<Message>; ++kind) {
    // Nothing but zeros is what a message has whose fields are all empty.
    std::string frame(1, static_cast<char>(kind));
    absl::StatusOr<Message> empty = FromFrame(frame);
    while (!empty.ok() && frame.size() < 1000) {
      frame.push_back('\0');
      empty = FromFrame(frame);
    }
    ASSERT_TRUE(empty.ok()) << kind;
    EXPECT_EQ(ToFrame(*empty), frame);
  }
}

TEST(MessageTest, FieldsKeepTheirValues) {
  message::TaskAnswer answer{.attempt = 7, .run_micros = 0xfffffffe};
  answer.error = {.code = 13, .message = std::string("a\0b", 3)};
  answer.receipt = true;
  answer.value.references.push_back({.owner_address = "host:1"});
  const absl::StatusOr<Message> back = FromFrame(ToFrame(answer));
  ASSERT_TRUE(back.ok());
  const auto& got = std::get<message::TaskAnswer>(*back);
  EXPECT_EQ(got.attempt, 7u);
  EXPECT_EQ(got.run_micros, 0xfffffffe);
  EXPECT_EQ(got.error.message, std::string("a\0b", 3));
  EXPECT_TRUE(got.receipt);
  ASSERT_EQ(got.value.references.size(), 1u);
  EXPECT_EQ(got.value.references[0].owner_address, "host:1");
}

TEST(MessageTest, AFrameCutAnywhereIsRefused) {
  for (const Message& message : FilledMessages()) {
    const std::string frame = ToFrame(message);
    for (std::size_t size = 0; size < frame.size(); ++size) {
      EXPECT_EQ(FromFrame(frame.substr(0, size)).status().code(),
                absl::StatusCode::kInvalidArgument)
          << message.index() << " cut to " << size;
    }
  }
}

TEST(MessageTest, BytesTooManyAreRefused) {
  for (const Message& message : FilledMessages()) {
    EXPECT_FALSE(FromFrame(ToFrame(message) + "x").ok()) << message.index();
  }
}

TEST(MessageTest, AnUnknownKindIsRefused) {
  for (std::size_t kind = std::variant_size_v<Message>; kind < 256; ++kind) {
    EXPECT_FALSE(FromFrame(std::string(1, static_cast<char>(kind))).ok());
  }
}

// Whatever is taken for a message is one that ToFrame makes: so flags and
// phases that nobody knows are refused.
TEST(MessageTest, AFrameWithWrongBytesIsRefusedOrIsAnotherMessage) {
  Random random(5);
  const std::vector<Message> messages = FilledMessages();
  int taken = 0;
  for (int i = 0; i < 100'000; ++i) {
    std::string frame = ToFrame(messages[random.Below(messages.size())]);
    for (std::uint64_t wrong = 1 + random.Below(3); wrong > 0; --wrong) {
      frame[random.Below(frame.size())] = static_cast<char>(random.Below(256));
    }
    const absl::StatusOr<Message> message = FromFrame(frame);
    if (!message.ok()) continue;
    ++taken;
    ASSERT_EQ(ToFrame(*message), frame);
  }
  EXPECT_GT(taken, 1000);
}

TEST(MessageTest, APhaseThatNobodyKnowsIsRefused) {
  message::ObjectState state;
  state.phase = static_cast<message::ObjectPhase>(3);
  EXPECT_FALSE(FromFrame(ToFrame(state)).ok());
  message::ActorIs actor;
  actor.phase = static_cast<message::ActorPhase>(255);
  EXPECT_FALSE(FromFrame(ToFrame(actor)).ok());
  message::Hello hello;
  hello.role = static_cast<message::Role>(4);
  EXPECT_FALSE(FromFrame(ToFrame(hello)).ok());
}

TEST(MessageTest, GarbageIsRefused) {
  Random random(6);
  for (int i = 0; i < 20'000; ++i) {
    std::string frame(1 + random.Below(300), '\0');
    for (char& byte : frame) byte = static_cast<char>(random.Below(256));
    frame[0] = static_cast<char>(random.Below(std::variant_size_v<Message>));
    const absl::StatusOr<Message> message = FromFrame(frame);
    if (message.ok()) EXPECT_EQ(ToFrame(*message), frame);
  }
}

}  // namespace
}  // namespace hoplite::task
