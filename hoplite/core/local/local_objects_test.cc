#include "hoplite/core/local/local_objects.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "hoplite/core/testing/local_node.h"

namespace hoplite {
namespace {

using testing::All;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::Id;
using ::testing::IsEmpty;
using testing::LocalNode;
using testing::Only;
using testing::OnlySent;
using testing::PutOf;
using testing::Ref;
using testing::Sent;
using testing::TargetNumber;

constexpr std::uint64_t kSize = 1000;

class LocalObjectsTest : public ::testing::Test {
 protected:
  ~LocalObjectsTest() override {
    EXPECT_EQ(objects_.CheckInvariants(node_.buffers), "");
  }

  // --- A client's acts. Each keeps its commands in out_. -------------------
  RequestId Get(const ObjectId& object) {
    const RequestId get = node_.Enter(RequestKind::kGet, object);
    Do([&](NodeContext& context) { objects_.OnGet(context, get, object); });
    return get;
  }
  void EndGet(RequestId get,
              absl::StatusCode code = absl::StatusCode::kDeadlineExceeded) {
    // A copy: the answer takes the request out of the table.
    const ObjectId object = node_.requests.Find(get)->object;
    Do([&](NodeContext& context) {
      objects_.EndGet(context, get, object, code, "when the deadline came");
    });
  }
  // --- The shard's answers. -------------------------------------------------
  message::Grant GrantOf(const ObjectId& object, std::uint32_t server,
                         Generation generation = PutOf(2)) {
    return {.at = node_.At(object),
            .object = object,
            .ask = last_ask_,
            .generation = generation,
            .size = kSize,
            .frame_bytes = 64,
            .server = Ref(server),
            .final = true};
  }
  void Grant(const message::Grant& grant) {
    Do([&](NodeContext& context) { objects_.OnGrant(context, grant); });
  }
  void GrantInline(const ObjectId& object, AskNumber ask,
                   Generation generation = PutOf(2)) {
    const message::GrantInline grant{.at = node_.At(object),
                                     .object = object,
                                     .ask = ask,
                                     .generation = generation,
                                     .payload = MakePayload("small")};
    Do([&](NodeContext& context) { objects_.OnGrantInline(context, grant); });
  }
  void Drop(const ObjectId& object, absl::StatusCode code,
            Generation generation = PutOf(2)) {
    Do([&](NodeContext& context) {
      objects_.OnDrop(context, Ref(LocalNode::kHost),
                      {.at = node_.At(object),
                       .object = object,
                       .generation = generation,
                       .code = code,
                       .reason = "the reason"});
    });
  }
  // --- The driver's answers. ------------------------------------------------
  void BufferCreated() {
    const BufferId buffer = last_buffer_;
    Do([&](NodeContext& context) {
      const BufferTable::Entry* entry =
          node_.buffers.OnCreated(buffer, context.out);
      if (entry == nullptr) return;
      const ObjectId object = OwnerObject(entry->owner);
      objects_.OnBufferCreated(context, object, buffer);
    });
  }
  void BufferRefused(std::uint64_t capacity = 2 * kSize) {
    const BufferId buffer = last_buffer_;
    Do([&](NodeContext& context) {
      const auto entry = node_.buffers.TakeRefused(buffer);
      if (!entry.has_value()) return;
      objects_.OnBufferRefused(context, OwnerObject(entry->owner), capacity);
    });
  }
  void TransferDone() {
    Do([&](NodeContext& context) {
      objects_.OnTransferDone(context, last_transfer_);
    });
  }
  void TransferFailed(std::uint64_t received) {
    Do([&](NodeContext& context) {
      objects_.OnTransferFailed(context, {last_transfer_, received, false});
    });
  }
  // What OnPull said; the pull is named by its number.
  bool Pull(std::uint64_t pull, const ObjectId& object,
            Generation generation = PutOf(2), bool may_come = false) {
    bool kept = false;
    Do([&](NodeContext& context) {
      kept = objects_.OnPull(context,
                             {.pull = PullId(pull),
                              .peer = Ref(8),
                              .key = {.object = object},
                              .generation = generation},
                             may_come);
    });
    return kept;
  }
  void PullEnded(std::uint64_t pull) {
    Do([&](NodeContext& context) {
      objects_.OnPullEnded(context, PullId(pull));
    });
  }
  // A complete copy of an object that node 2 has put.
  BufferId Fetch(const ObjectId& object) {
    const RequestId get = Get(object);
    Grant(GrantOf(object, 2));
    BufferCreated();
    TransferDone();
    EXPECT_EQ(node_.requests.Find(get), nullptr);
    return last_buffer_;
  }
  std::string StateOf(const ObjectId& object) const {
    std::vector<LocalObjectStatus> all;
    objects_.AppendStatus(all);
    for (const LocalObjectStatus& status : all) {
      if (status.object == object) return status.state;
    }
    return "none";
  }

  template <typename Act>
  void Do(Act act) {
    out_ = node_.Do(act);
    for (const auto& ask : Sent<message::Ask>(out_)) last_ask_ = ask.ask;
    for (const auto& create : All<command::CreateBuffer>(out_)) {
      last_buffer_ = create.buffer;
    }
    for (const auto& start : All<command::StartTransfer>(out_)) {
      last_transfer_ = start.transfer;
    }
  }

  LocalNode node_;
  LocalObjects objects_;
  Commands out_;  // of the last act
  AskNumber last_ask_;
  BufferId last_buffer_;
  TransferId last_transfer_;
};

// --- Gets. ------------------------------------------------------------------

TEST_F(LocalObjectsTest, AGetAsksTheShard) {
  Get(Id(1));
  const auto ask = OnlySent<message::Ask>(out_, Ref(LocalNode::kHost));
  ASSERT_TRUE(ask.has_value());
  EXPECT_EQ(ask->at, node_.At(Id(1)));
  EXPECT_EQ(ask->object, Id(1));
  EXPECT_EQ(ask->begin, 0u);
  EXPECT_FALSE(ask->held);
  EXPECT_FALSE(ask->lost);
  EXPECT_EQ(StateOf(Id(1)), "asking");
}

TEST_F(LocalObjectsTest, AGrantedObjectIsFetchedAndItsGetAnswered) {
  const RequestId get = Get(Id(1));
  Grant(GrantOf(Id(1), 2));
  const auto create = Only<command::CreateBuffer>(out_);
  ASSERT_TRUE(create.has_value());
  EXPECT_EQ(create->size, kSize);
  EXPECT_EQ(StateOf(Id(1)), "allocating");

  BufferCreated();
  const auto start = Only<command::StartTransfer>(out_);
  ASSERT_TRUE(start.has_value());
  EXPECT_EQ(start->server, Ref(2));
  EXPECT_EQ(start->generation, PutOf(2));
  EXPECT_EQ(start->begin, 0u);
  EXPECT_EQ(start->size, kSize);
  EXPECT_EQ(start->frame_bytes, 64u);
  EXPECT_EQ(start->key.object, Id(1));
  EXPECT_FALSE(start->key.is_output());
  EXPECT_EQ(objects_.transfers_under_way(), 1u);

  TransferDone();
  const auto complete = OnlySent<message::CopyComplete>(out_);
  ASSERT_TRUE(complete.has_value());
  EXPECT_EQ(complete->generation, PutOf(2));
  const auto answer = Only<command::AnswerRequest>(out_);
  ASSERT_TRUE(answer.has_value());
  EXPECT_EQ(answer->request, get);
  EXPECT_EQ(answer->code, absl::StatusCode::kOk);
  EXPECT_EQ(answer->buffer, last_buffer_);
  EXPECT_EQ(objects_.transfers_under_way(), 0u);
}

TEST_F(LocalObjectsTest, AnObjectCrossesTheLinkOnceWhateverTheGets) {
  Get(Id(1));
  Get(Id(1));
  EXPECT_THAT(out_, IsEmpty());
  Grant(GrantOf(Id(1), 2));
  Get(Id(1));
  EXPECT_THAT(out_, IsEmpty());
  BufferCreated();
  TransferDone();
  EXPECT_EQ(All<command::AnswerRequest>(out_).size(), 3u);
  Get(Id(1));
  EXPECT_EQ(out_.size(), 1u) << "answered from here";
  EXPECT_TRUE(Only<command::AnswerRequest>(out_).has_value());
}

TEST_F(LocalObjectsTest, OnlyTheGrantOfTheLatestAskCounts) {
  Get(Id(1));
  message::Grant old = GrantOf(Id(1), 2);
  old.ask = AskNumber(last_ask_.value() + 7);
  Grant(old);
  EXPECT_THAT(out_, IsEmpty());
  Grant(GrantOf(Id(1), 2));
  const message::Grant repeated = GrantOf(Id(1), 2);
  Grant(repeated);
  EXPECT_THAT(out_, IsEmpty()) << "repeated";
  BufferCreated();
  Grant(repeated);
  EXPECT_THAT(out_, IsEmpty());
}

TEST_F(LocalObjectsTest, AGrantNobodyAskedForIsIgnored) {
  Grant(GrantOf(Id(1), 2));
  EXPECT_THAT(out_, IsEmpty());
  EXPECT_EQ(StateOf(Id(1)), "none");
}

TEST_F(LocalObjectsTest, AGrantOfAnEarlierEpochIsIgnored) {
  Get(Id(1));
  const message::Grant old = GrantOf(Id(1), 2);
  node_.MoveShardsTo(7);
  Grant(old);
  EXPECT_THAT(out_, IsEmpty());
  EXPECT_EQ(StateOf(Id(1)), "asking");
  Grant(GrantOf(Id(1), 3));
  EXPECT_EQ(StateOf(Id(1)), "allocating");
}

TEST_F(LocalObjectsTest, ARefusalEndsTheGets) {
  const RequestId get = Get(Id(1));
  Do([&](NodeContext& context) {
    objects_.OnRefusal(context, {.at = node_.At(Id(1)),
                                 .object = Id(1),
                                 .ask = last_ask_,
                                 .code = absl::StatusCode::kNotFound,
                                 .reason = "it was deleted"});
  });
  const auto answer = Only<command::AnswerRequest>(out_);
  ASSERT_TRUE(answer.has_value());
  EXPECT_EQ(answer->request, get);
  EXPECT_EQ(answer->code, absl::StatusCode::kNotFound);
  EXPECT_EQ(answer->detail, "it was deleted");
  EXPECT_EQ(StateOf(Id(1)), "none");
}

TEST_F(LocalObjectsTest, ARefusalOfAnEarlierAskIsIgnored) {
  Get(Id(1));
  Do([&](NodeContext& context) {
    objects_.OnRefusal(context, {.at = node_.At(Id(1)),
                                 .object = Id(1),
                                 .ask = AskNumber(99),
                                 .code = absl::StatusCode::kNotFound});
  });
  EXPECT_THAT(out_, IsEmpty());
  EXPECT_EQ(StateOf(Id(1)), "asking");
}

// --- Small objects. ---------------------------------------------------------

TEST_F(LocalObjectsTest, AnInlineAnswerIsStoredAndTheGetAnswered) {
  Get(Id(1));
  GrantInline(Id(1), last_ask_);
  const auto create = Only<command::CreateBuffer>(out_);
  ASSERT_TRUE(create.has_value());
  ASSERT_NE(create->payload, nullptr);
  EXPECT_EQ(*create->payload, "small");
  BufferCreated();
  EXPECT_TRUE(Only<command::AnswerRequest>(out_).has_value());
  EXPECT_THAT(Sent<message::CopyComplete>(out_), IsEmpty())
      << "who is answered so counts as complete already";
  EXPECT_EQ(StateOf(Id(1)), "complete");
}

TEST_F(LocalObjectsTest, APushIsKeptAndReported) {
  GrantInline(Id(1), AskNumber());
  BufferCreated();
  EXPECT_EQ(StateOf(Id(1)), "complete");
  EXPECT_TRUE(OnlySent<message::CopyComplete>(out_).has_value())
      << "a push may find no room: the shard does not count on it";
}

TEST_F(LocalObjectsTest, APushOfWhatIsAskedForIsLeftToTheAnswer) {
  Get(Id(1));
  GrantInline(Id(1), AskNumber());
  EXPECT_THAT(out_, IsEmpty());
  GrantInline(Id(1), last_ask_);
  EXPECT_TRUE(Only<command::CreateBuffer>(out_).has_value());
}

// Symptom: a Get found an object that had been deleted everywhere. Cause: an
// answer that came after its Get had ended was stored, and the shard, which had
// heard of the end, did not know.
TEST_F(LocalObjectsTest, AnInlineAnswerAfterTheGetHasEndedIsNotKept) {
  const RequestId get = Get(Id(1));
  EndGet(get);
  EXPECT_TRUE(OnlySent<message::Withdraw>(out_).has_value());
  GrantInline(Id(1), last_ask_);
  EXPECT_THAT(out_, IsEmpty());
  EXPECT_EQ(StateOf(Id(1)), "none");
}

TEST_F(LocalObjectsTest, AnInlineAnswerWithoutBytesIsIgnored) {
  Do([&](NodeContext& context) {
    objects_.OnGrantInline(context, {.at = node_.At(Id(1)), .object = Id(1)});
  });
  EXPECT_THAT(out_, IsEmpty());
  EXPECT_EQ(StateOf(Id(1)), "none");
}

TEST_F(LocalObjectsTest, APushThatFindsNoRoomIsHandedBack) {
  GrantInline(Id(1), AskNumber());
  BufferRefused();
  EXPECT_TRUE(OnlySent<message::Withdraw>(out_).has_value());
  EXPECT_EQ(StateOf(Id(1)), "none");
  EXPECT_FALSE(node_.buffers.anyone_waits());
}

// --- Ends of Gets. ----------------------------------------------------------

TEST_F(LocalObjectsTest, AFetchEndsWithItsLastGet) {
  const RequestId first = Get(Id(1));
  const RequestId second = Get(Id(1));
  Grant(GrantOf(Id(1), 2));
  BufferCreated();
  EndGet(first);
  EXPECT_EQ(out_.size(), 1u) << "another one waits";
  EndGet(second);
  EXPECT_TRUE(OnlySent<message::Withdraw>(out_).has_value());
  EXPECT_TRUE(Only<command::CancelTransfer>(out_).has_value());
  const auto release = Only<command::ReleaseBuffer>(out_);
  ASSERT_TRUE(release.has_value());
  EXPECT_TRUE(release->failed);
  EXPECT_EQ(StateOf(Id(1)), "none");
  TransferFailed(10);
  EXPECT_THAT(out_, IsEmpty()) << "the end of what was cancelled";
}

TEST_F(LocalObjectsTest, AFetchGoesOnWhileAPeerWantsIt) {
  const RequestId get = Get(Id(1));
  Grant(GrantOf(Id(1), 2));
  BufferCreated();
  EXPECT_TRUE(Pull(1, Id(1)));
  EndGet(get);
  EXPECT_EQ(StateOf(Id(1)), "fetching");
  PullEnded(1);
  EXPECT_EQ(StateOf(Id(1)), "none");
  EXPECT_TRUE(OnlySent<message::Withdraw>(out_).has_value());
}

// Symptom: the driver stopped: it was to release a buffer that the store had
// refused meanwhile.
TEST_F(LocalObjectsTest, AGetMayEndWhileItsBufferIsOrdered) {
  EndGet(Get(Id(1)));
  const RequestId get = Get(Id(1));
  Grant(GrantOf(Id(1), 2));
  EndGet(get);
  EXPECT_THAT(All<command::ReleaseBuffer>(out_), IsEmpty());
  BufferRefused();
  EXPECT_THAT(out_, IsEmpty());
  EXPECT_EQ(node_.buffers.size(), 0u);
}

TEST_F(LocalObjectsTest, WhatADeadlineSaysDependsOnWhatWasWaitedFor) {
  const RequestId absent = Get(Id(1));
  EndGet(absent);
  EXPECT_THAT(Only<command::AnswerRequest>(out_)->detail,
              HasSubstr("it was not there"));

  const RequestId fetching = Get(Id(2));
  Grant(GrantOf(Id(2), 7));
  BufferCreated();
  EndGet(fetching);
  auto answer = Only<command::AnswerRequest>(out_);
  EXPECT_THAT(answer->detail, HasSubstr("it was being fetched"));
  EXPECT_EQ(answer->remote, Ref(7));
  EXPECT_EQ(answer->bytes_total, kSize);
  EXPECT_EQ(answer->code, absl::StatusCode::kDeadlineExceeded);

  const RequestId no_room = Get(Id(3));
  Grant(GrantOf(Id(3), 7));
  BufferRefused();
  EndGet(no_room);
  answer = Only<command::AnswerRequest>(out_);
  EXPECT_EQ(answer->code, absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(answer->detail, HasSubstr("no room"));
}

// A Get that failed told neither which server had been lost nor how far it had
// come.
TEST_F(LocalObjectsTest, AnErrorNamesTheServerThatFailedAndTheBytesDone) {
  const RequestId late = Get(Id(1));
  Grant(GrantOf(Id(1), 7));
  BufferCreated();
  const BufferId buffer = last_buffer_;
  TransferFailed(600);
  EndGet(late);
  auto answer = Only<command::AnswerRequest>(out_);
  EXPECT_EQ(answer->remote, Ref(7));
  EXPECT_EQ(answer->bytes_done, 600u);
  EXPECT_EQ(answer->buffer, buffer) << "for how far it has come since";
  EXPECT_THAT(answer->detail, HasSubstr("no node could serve it"));
}

TEST_F(LocalObjectsTest, ACancelIsACancelEvenWithoutRoom) {
  const RequestId get = Get(Id(1));
  Grant(GrantOf(Id(1), 2));
  BufferRefused();
  EndGet(get, absl::StatusCode::kCancelled);
  EXPECT_EQ(Only<command::AnswerRequest>(out_)->code,
            absl::StatusCode::kCancelled);
}

// --- Servers that fail. -----------------------------------------------------

TEST_F(LocalObjectsTest, AFailedTransferResumesWhereItEnded) {
  Get(Id(1));
  Grant(GrantOf(Id(1), 2));
  BufferCreated();
  const BufferId buffer = last_buffer_;
  TransferFailed(600);
  const auto ask = OnlySent<message::Ask>(out_);
  ASSERT_TRUE(ask.has_value());
  EXPECT_EQ(ask->held, PutOf(2));
  EXPECT_EQ(ask->begin, 600u);
  EXPECT_EQ(ask->lost, Ref(2));
  Grant(GrantOf(Id(1), 3));
  EXPECT_THAT(All<command::CreateBuffer>(out_), IsEmpty());
  const auto start = Only<command::StartTransfer>(out_);
  ASSERT_TRUE(start.has_value());
  EXPECT_EQ(start->begin, 600u);
  EXPECT_EQ(start->buffer, buffer);
  EXPECT_EQ(start->server, Ref(3));
}

// Symptom: a copy served more receivers than its degree. Cause: its node asked
// again before its first byte, as if it held nothing; the shard struck the copy
// with its receivers, who went on waiting at it.
TEST_F(LocalObjectsTest, ABufferThatReceiversWaitAtIsHeldBeforeItsFirstByte) {
  Get(Id(1));
  Grant(GrantOf(Id(1), 2));
  BufferCreated();
  EXPECT_TRUE(Pull(1, Id(1)));
  TransferFailed(0);
  const auto ask = OnlySent<message::Ask>(out_);
  ASSERT_TRUE(ask.has_value());
  EXPECT_EQ(ask->held, PutOf(2));
  EXPECT_EQ(ask->begin, 0u);
}

TEST_F(LocalObjectsTest, AnotherGenerationStartsAfresh) {
  Get(Id(1));
  Grant(GrantOf(Id(1), 2));
  BufferCreated();
  EXPECT_TRUE(Pull(1, Id(1)));
  const BufferId old = last_buffer_;
  TransferFailed(600);
  Grant(GrantOf(Id(1), 3, PutOf(3)));
  EXPECT_EQ(Only<command::RefusePull>(out_)->pull, PullId(1));
  ASSERT_EQ(All<command::ReleaseBuffer>(out_).size(), 1u);
  EXPECT_EQ(All<command::ReleaseBuffer>(out_)[0].buffer, old);
  BufferCreated();
  EXPECT_EQ(Only<command::StartTransfer>(out_)->begin, 0u);
}

TEST_F(LocalObjectsTest, ATransferThatEndedBeforeTellsNothing) {
  Do([&](NodeContext& context) {
    objects_.OnTransferDone(context, TransferId(9));
    objects_.OnTransferFailed(context, {TransferId(9), 5, true});
  });
  EXPECT_THAT(out_, IsEmpty());
}

// --- Room. ------------------------------------------------------------------

TEST_F(LocalObjectsTest, WhoFindsNoRoomHandsItsGrantBackAndAsksAgain) {
  Get(Id(1));
  const AskNumber first = last_ask_;
  Grant(GrantOf(Id(1), 2));
  BufferRefused();
  const auto withdraw = OnlySent<message::Withdraw>(out_);
  ASSERT_TRUE(withdraw.has_value());
  EXPECT_EQ(withdraw->ask, first);
  EXPECT_EQ(StateOf(Id(1)), "no room");
  EXPECT_EQ(node_.buffers.TakeWaiting(),
            (std::vector<BufferOwner>{FetchOwner{Id(1)}}));

  Do([&](NodeContext& context) { objects_.AskAgain(context, Id(1)); });
  const auto ask = OnlySent<message::Ask>(out_);
  ASSERT_TRUE(ask.has_value());
  EXPECT_GT(ask->ask, first);
  EXPECT_FALSE(ask->held);
}

TEST_F(LocalObjectsTest, WhatNeverFitsIsRefusedNamingBothSizes) {
  Get(Id(1));
  Grant(GrantOf(Id(1), 2));
  BufferRefused(/*capacity=*/kSize - 1);
  const auto answer = Only<command::AnswerRequest>(out_);
  ASSERT_TRUE(answer.has_value());
  EXPECT_EQ(answer->code, absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(answer->detail, HasSubstr("1000 bytes"));
  EXPECT_THAT(answer->detail, HasSubstr("999 bytes"));
  EXPECT_TRUE(OnlySent<message::Withdraw>(out_).has_value());
  EXPECT_EQ(StateOf(Id(1)), "none");
}

// Symptom: a receiver waited for ever. Cause: its server had found no room, had
// handed its own grant back, and kept the pull for a grant to come.
TEST_F(LocalObjectsTest, WhoFindsNoRoomSendsItsReceiversElsewhere) {
  Get(Id(1));
  EXPECT_TRUE(Pull(1, Id(1))) << "before this node's own grant";
  Grant(GrantOf(Id(1), 2));
  EXPECT_TRUE(Pull(2, Id(1))) << "before its buffer";
  BufferRefused();
  ASSERT_EQ(All<command::RefusePull>(out_).size(), 2u);
  EXPECT_FALSE(Pull(3, Id(1)));
  PullEnded(1);
  PullEnded(2);
  EXPECT_EQ(StateOf(Id(1)), "no room");
}

TEST_F(LocalObjectsTest, AskingAgainWithoutNeedChangesNothing) {
  Do([&](NodeContext& context) { objects_.AskAgain(context, Id(1)); });
  EXPECT_THAT(out_, IsEmpty());
  Get(Id(1));
  Do([&](NodeContext& context) { objects_.AskAgain(context, Id(1)); });
  EXPECT_THAT(out_, IsEmpty());
}

TEST_F(LocalObjectsTest, AGetThatEndsNoLongerWaitsForRoom) {
  const RequestId get = Get(Id(1));
  Grant(GrantOf(Id(1), 2));
  BufferRefused();
  EndGet(get);
  EXPECT_FALSE(node_.buffers.anyone_waits());
  EXPECT_THAT(Sent<message::Withdraw>(out_), IsEmpty()) << "handed back before";
}

// --- Eviction. --------------------------------------------------------------

class EvictionTest : public LocalObjectsTest {
 protected:
  std::vector<ObjectId> AskToEvict(const std::vector<BufferId>& candidates,
                                   std::uint64_t bytes) {
    Do([&](NodeContext& context) {
      objects_.AskToEvict(context, candidates, bytes);
    });
    std::vector<ObjectId> asked;
    for (const auto& ask : Sent<message::EvictAsk>(out_)) {
      for (const auto& entry : ask.entries) asked.push_back(entry.object);
    }
    return asked;
  }
  message::EvictEntry Entry(const ObjectId& object) const {
    return {node_.At(object), object, PutOf(2)};
  }
  void Answer(const message::EvictAnswer& answer) {
    Do([&](NodeContext& context) { objects_.OnEvictAnswer(context, answer); });
  }
};

TEST_F(EvictionTest, AsksForAsMuchAsIsNeededInTheOrderGiven) {
  const std::vector<BufferId> buffers = {Fetch(Id(3)), Fetch(Id(1)),
                                         Fetch(Id(2))};
  EXPECT_THAT(AskToEvict(buffers, kSize + 1), ElementsAre(Id(3), Id(1)));
}

TEST_F(EvictionTest, WhatIsUnderWayCounts) {
  const std::vector<BufferId> buffers = {Fetch(Id(1)), Fetch(Id(2)),
                                         Fetch(Id(3))};
  EXPECT_THAT(AskToEvict(buffers, kSize), ElementsAre(Id(1)));
  EXPECT_THAT(AskToEvict(buffers, kSize), IsEmpty());
  EXPECT_THAT(AskToEvict(buffers, 2 * kSize), ElementsAre(Id(2)));
}

TEST_F(EvictionTest, WhatMayGoIsReleased) {
  const BufferId buffer = Fetch(Id(1));
  AskToEvict({buffer}, kSize);
  Answer({.allowed = {Entry(Id(1))}});
  const auto release = Only<command::ReleaseBuffer>(out_);
  ASSERT_TRUE(release.has_value());
  EXPECT_EQ(release->buffer, buffer);
  EXPECT_FALSE(release->failed) << "its readers have all of it";
  EXPECT_EQ(StateOf(Id(1)), "none");
}

// Symptom: a Put waited though there was room to make. Cause: the copy that was
// used least was the last one, was refused, and was asked for again and again.
TEST_F(EvictionTest, WhatWasDeniedIsNotAskedForAgainBeforeTheOthers) {
  const std::vector<BufferId> buffers = {Fetch(Id(1)), Fetch(Id(2))};
  EXPECT_THAT(AskToEvict(buffers, kSize), ElementsAre(Id(1)));
  Answer({.denied = {Entry(Id(1))}});
  EXPECT_EQ(StateOf(Id(1)), "complete");
  EXPECT_THAT(AskToEvict(buffers, kSize), ElementsAre(Id(2)));
  Answer({.denied = {Entry(Id(2))}});
  EXPECT_THAT(AskToEvict(buffers, kSize), IsEmpty());
  objects_.ForgetDenials();
  EXPECT_THAT(AskToEvict(buffers, kSize), ElementsAre(Id(1)));
}

TEST_F(EvictionTest, WhatIsInUseIsNotAskedFor) {
  const BufferId served = Fetch(Id(1));
  EXPECT_TRUE(Pull(1, Id(1)));
  const BufferId held = Fetch(Id(2));
  node_.buffers.Hold(held);  // as a position of a reduction does
  Get(Id(3));
  Grant(GrantOf(Id(3), 2));
  BufferCreated();
  const BufferId fetching = last_buffer_;
  EXPECT_THAT(AskToEvict({served, held, fetching, BufferId(99)}, 9 * kSize),
              IsEmpty());
  PullEnded(1);
  EXPECT_THAT(AskToEvict({served, held, fetching}, 9 * kSize),
              ElementsAre(Id(1)));
}

TEST_F(EvictionTest, ALateAnswerForOtherBytesChangesNothing) {
  const BufferId buffer = Fetch(Id(1));
  AskToEvict({buffer}, kSize);
  message::EvictEntry other = Entry(Id(1));
  other.generation = PutOf(9);
  Answer({.allowed = {other, Entry(Id(2))}});
  EXPECT_THAT(out_, IsEmpty());
  EXPECT_EQ(StateOf(Id(1)), "complete");
}

TEST_F(EvictionTest, WhatALostHostWasAskedIsAskedAgain) {
  const BufferId buffer = Fetch(Id(1));
  EXPECT_THAT(AskToEvict({buffer}, kSize), ElementsAre(Id(1)));
  node_.MoveShardsTo(7);
  Do([&](NodeContext& context) {
    objects_.Resend(context, ShardSet().set(Id(1).shard().value()));
  });
  EXPECT_THAT(AskToEvict({buffer}, kSize), ElementsAre(Id(1)));
  EXPECT_TRUE(OnlySent<message::EvictAsk>(out_, Ref(7)).has_value());
}

// --- Drops. -----------------------------------------------------------------

TEST_F(LocalObjectsTest, ADeletedObjectIsDroppedAndItsGetsEnd) {
  Get(Id(1));
  Grant(GrantOf(Id(1), 2));
  BufferCreated();
  EXPECT_TRUE(Pull(1, Id(1)));
  Drop(Id(1), absl::StatusCode::kNotFound);
  const auto answer = Only<command::AnswerRequest>(out_);
  ASSERT_TRUE(answer.has_value());
  EXPECT_EQ(answer->code, absl::StatusCode::kNotFound);
  EXPECT_TRUE(Only<command::CancelTransfer>(out_).has_value());
  EXPECT_TRUE(Only<command::RefusePull>(out_).has_value());
  EXPECT_TRUE(Only<command::ReleaseBuffer>(out_)->failed);
  const auto dropped = OnlySent<message::Dropped>(out_, Ref(LocalNode::kHost));
  ASSERT_TRUE(dropped.has_value());
  EXPECT_EQ(dropped->generation, PutOf(2));
  EXPECT_EQ(StateOf(Id(1)), "none");
}

TEST_F(LocalObjectsTest, WhatNeverWasIsWaitedForAgain) {
  const RequestId get = Get(Id(1));
  Grant(GrantOf(Id(1), 2));
  BufferCreated();
  Drop(Id(1), absl::StatusCode::kAborted);
  EXPECT_NE(node_.requests.Find(get), nullptr);
  const auto ask = OnlySent<message::Ask>(out_);
  ASSERT_TRUE(ask.has_value());
  EXPECT_EQ(ask->begin, 0u);
  EXPECT_EQ(StateOf(Id(1)), "asking");
}

TEST_F(LocalObjectsTest, ADropOfOtherBytesIsAnsweredAndChangesNothing) {
  Fetch(Id(1));
  Drop(Id(1), absl::StatusCode::kNotFound, PutOf(9));
  EXPECT_EQ(out_.size(), 1u);
  EXPECT_TRUE(OnlySent<message::Dropped>(out_).has_value());
  Drop(Id(2), absl::StatusCode::kNotFound);
  EXPECT_TRUE(OnlySent<message::Dropped>(out_).has_value());
  EXPECT_EQ(StateOf(Id(1)), "complete");
}

// --- Pulls. -----------------------------------------------------------------

TEST_F(LocalObjectsTest, ACompleteCopyIsServed) {
  const BufferId buffer = Fetch(Id(1));
  EXPECT_TRUE(Pull(1, Id(1)));
  const auto serve = Only<command::ServePull>(out_);
  ASSERT_TRUE(serve.has_value());
  EXPECT_EQ(serve->pull, PullId(1));
  EXPECT_EQ(serve->buffer, buffer);
  PullEnded(1);
  EXPECT_THAT(out_, IsEmpty());
  EXPECT_EQ(StateOf(Id(1)), "complete");
}

TEST_F(LocalObjectsTest, APullIsKeptUntilThisNodesOwnGrant) {
  Get(Id(1));
  EXPECT_TRUE(Pull(1, Id(1)));
  EXPECT_TRUE(Pull(2, Id(1), PutOf(9)));
  EXPECT_THAT(out_, IsEmpty());
  Grant(GrantOf(Id(1), 2));
  BufferCreated();
  EXPECT_EQ(Only<command::ServePull>(out_)->pull, PullId(1));
  EXPECT_EQ(Only<command::RefusePull>(out_)->pull, PullId(2))
      << "of another generation";
}

TEST_F(LocalObjectsTest, APullOfWhatIsNotHereIsRefused) {
  EXPECT_FALSE(Pull(1, Id(1)));
  Fetch(Id(2));
  EXPECT_FALSE(Pull(2, Id(2), PutOf(9)));
}

TEST_F(LocalObjectsTest, APullOfAPutUnderWayIsKept) {
  EXPECT_TRUE(Pull(1, Id(1), PutOf(5), /*may_come=*/true));
  const BufferId buffer =
      node_.buffers.Create(PutOwner{RequestId(1), Id(1)}, 10, nullptr, out_);
  node_.buffers.OnCreated(buffer, out_);
  Do([&](NodeContext& context) {
    objects_.InstallPut(context, Id(1), PutOf(5), 10, buffer);
  });
  EXPECT_EQ(Only<command::ServePull>(out_)->pull, PullId(1));
}

TEST_F(LocalObjectsTest, APullOfATargetMayComeBeforeItsAssignment) {
  EXPECT_TRUE(Pull(1, Id(1), TargetNumber(4)));
  const BufferId buffer = node_.buffers.Create(
      OutputOwner{{Id(1), 0}, TargetNumber(4)}, 10, nullptr, out_);
  node_.buffers.OnCreated(buffer, out_);
  Do([&](NodeContext& context) {
    objects_.InstallTarget(context, Id(1), TargetNumber(4), 10, 64, buffer);
  });
  EXPECT_EQ(Only<command::ServePull>(out_)->pull, PullId(1));
}

TEST_F(LocalObjectsTest, APullOfATargetThatHasGoneIsRefused) {
  Get(Id(1));
  Grant(GrantOf(Id(1), 2, TargetNumber(4)));
  BufferCreated();
  TransferDone();
  Drop(Id(1), absl::StatusCode::kNotFound, TargetNumber(4));
  EXPECT_FALSE(Pull(1, Id(1), TargetNumber(4)));
}

// Symptom (seeds 2017, 10184, 13764, 16075): a Get ended at its deadline,
// being fetched from a node that kept its pull for ever. Cause: that node's own
// Get had ended while its grant was on the way, and others had been granted
// to it; it took their pulls for those of a target that it was to make.
TEST_F(LocalObjectsTest, APullOfATargetWhoseGrantWasLetPassIsRefused) {
  const RequestId get = Get(Id(1));
  const message::Grant grant = GrantOf(Id(1), 2, TargetNumber(4));
  EndGet(get);
  Grant(grant);
  EXPECT_FALSE(Pull(1, Id(1), TargetNumber(4)));
  EXPECT_TRUE(Pull(2, Id(1), TargetNumber(5))) << "that one may come";
}

TEST_F(LocalObjectsTest, APullThatComesBeforeTheGrantThatIsLetPassIsRefused) {
  const RequestId get = Get(Id(1));
  const message::Grant grant = GrantOf(Id(1), 2, TargetNumber(4));
  EndGet(get);
  EXPECT_TRUE(Pull(1, Id(1), TargetNumber(4)));
  EXPECT_TRUE(Pull(2, Id(1), TargetNumber(5)));
  Grant(grant);
  EXPECT_EQ(Only<command::RefusePull>(out_)->pull, PullId(1));
  EXPECT_EQ(StateOf(Id(1)), "producing") << "for the other pull";
  GrantInline(Id(1), grant.ask, TargetNumber(5));
  EXPECT_EQ(Only<command::RefusePull>(out_)->pull, PullId(2));
  EXPECT_EQ(StateOf(Id(1)), "none");
}

TEST_F(LocalObjectsTest, AGrantThatIsLetPassLeavesWhatIsAskedForAnew) {
  EndGet(Get(Id(1)));
  const message::Grant late = GrantOf(Id(1), 2, TargetNumber(4));
  Get(Id(1));
  EXPECT_TRUE(Pull(1, Id(1), TargetNumber(4)));
  Grant(late);
  EXPECT_THAT(out_, IsEmpty());
  Grant(GrantOf(Id(1), 2, TargetNumber(4)));
  BufferCreated();
  EXPECT_EQ(Only<command::ServePull>(out_)->pull, PullId(1));
}

TEST_F(LocalObjectsTest, AnEarlyPullThatEndsLeavesNothing) {
  EXPECT_TRUE(Pull(1, Id(1), TargetNumber(4)));
  PullEnded(1);
  EXPECT_EQ(StateOf(Id(1)), "none");
}

TEST_F(LocalObjectsTest, AGetWithAnEarlyPullAsksTheShard) {
  EXPECT_TRUE(Pull(1, Id(1), TargetNumber(4)));
  Get(Id(1));
  EXPECT_TRUE(OnlySent<message::Ask>(out_).has_value());
}

TEST_F(LocalObjectsTest, TheEndOfAStrangePullIsIgnored) {
  PullEnded(77);
  EXPECT_THAT(out_, IsEmpty());
}

// --- What other machines make. ----------------------------------------------

class InstalledTest : public LocalObjectsTest {
 protected:
  BufferId NewBuffer(BufferOwner owner) {
    const BufferId buffer = node_.buffers.Create(owner, kSize, nullptr, out_);
    node_.buffers.OnCreated(buffer, out_);
    return buffer;
  }
  BufferId InstallPut(const ObjectId& object) {
    const BufferId buffer = NewBuffer(PutOwner{RequestId(9), object});
    Do([&](NodeContext& context) {
      objects_.InstallPut(context, object, PutOf(5), kSize, buffer);
    });
    return buffer;
  }
  BufferId InstallTarget(const ObjectId& object) {
    const BufferId buffer = NewBuffer(OutputOwner{{object, 0}, kGeneration});
    Do([&](NodeContext& context) {
      objects_.InstallTarget(context, object, kGeneration, kSize, 64, buffer);
    });
    return buffer;
  }
  static inline const Generation kGeneration = TargetNumber(3);
};

TEST_F(InstalledTest, AGetOfWhatIsPutHereWaitsForItsSeal) {
  const RequestId get = Get(Id(1));
  const BufferId buffer = InstallPut(Id(1));
  EXPECT_THAT(out_, IsEmpty());
  EXPECT_EQ(StateOf(Id(1)), "producing");
  Do([&](NodeContext& context) {
    objects_.SealPut(context, Id(1), PutOf(5), /*tell_shard=*/true);
  });
  EXPECT_TRUE(OnlySent<message::PutSealed>(out_).has_value());
  EXPECT_EQ(Only<command::AnswerRequest>(out_)->request, get);
  EXPECT_EQ(Only<command::AnswerRequest>(out_)->buffer, buffer);
}

TEST_F(InstalledTest, WhatIsPutHereIsServedBeforeItsSeal) {
  const BufferId buffer = InstallPut(Id(1));
  EXPECT_TRUE(Pull(1, Id(1), PutOf(5)));
  EXPECT_EQ(Only<command::ServePull>(out_)->buffer, buffer);
}

TEST_F(InstalledTest, APutTakesTheFetchUnderWaysPlace) {
  Get(Id(1));
  Grant(GrantOf(Id(1), 2));
  BufferCreated();
  InstallPut(Id(1));
  EXPECT_TRUE(Only<command::CancelTransfer>(out_).has_value());
  EXPECT_TRUE(Only<command::ReleaseBuffer>(out_).has_value());
  TransferDone();
  EXPECT_THAT(out_, IsEmpty()) << "of the cancelled transfer";
  EXPECT_EQ(StateOf(Id(1)), "producing");
}

TEST_F(InstalledTest, AnAbandonedPutIsWaitedForByTheGetsHere) {
  Get(Id(1));
  InstallPut(Id(1));
  EXPECT_TRUE(Pull(1, Id(1), PutOf(5)));
  Do([&](NodeContext& context) { objects_.Abandon(context, Id(1), PutOf(5)); });
  EXPECT_TRUE(Only<command::RefusePull>(out_).has_value());
  EXPECT_TRUE(Only<command::ReleaseBuffer>(out_)->failed);
  EXPECT_TRUE(OnlySent<message::Ask>(out_).has_value());
  EXPECT_EQ(StateOf(Id(1)), "asking");
}

TEST_F(InstalledTest, AnAbandonedPutThatNobodyWantsIsGone) {
  InstallPut(Id(1));
  Do([&](NodeContext& context) { objects_.Abandon(context, Id(1), PutOf(9)); });
  EXPECT_THAT(out_, IsEmpty()) << "another Put's generation";
  Do([&](NodeContext& context) { objects_.Abandon(context, Id(1), PutOf(5)); });
  EXPECT_EQ(StateOf(Id(1)), "none");
}

// Symptom: a Get waited for ever on a node whose own Put of the object had been
// cancelled. Cause: the shard, when it accepted that Put, had struck the ask.
TEST_F(InstalledTest, AGetAsksAgainWhenAPutEndsThatWasNeverAcceptedHere) {
  Get(Id(1));
  const AskNumber first = last_ask_;
  Do([&](NodeContext& context) {
    objects_.Abandon(context, Id(1), Generation());
  });
  EXPECT_GT(OnlySent<message::Ask>(out_)->ask, first);
}

TEST_F(InstalledTest, ATargetIsAnsweredWhenItIsCompleteAndFinal) {
  const RequestId get = Get(Id(1));
  InstallTarget(Id(1));
  Do([&](NodeContext& context) {
    objects_.CompleteTarget(context, Id(1), kGeneration);
  });
  EXPECT_TRUE(OnlySent<message::CopyComplete>(out_).has_value());
  EXPECT_NE(node_.requests.Find(get), nullptr) << "before it is final";
  Do([&](NodeContext& context) {
    objects_.OnFinal(context, {node_.At(Id(1)), Id(1), TargetNumber(9)});
  });
  EXPECT_THAT(out_, IsEmpty()) << "of another generation";
  Do([&](NodeContext& context) {
    objects_.OnFinal(context, {node_.At(Id(1)), Id(1), kGeneration});
  });
  EXPECT_EQ(Only<command::AnswerRequest>(out_)->request, get);
}

TEST_F(InstalledTest, FinalMayComeBeforeTheLastByte) {
  const RequestId get = Get(Id(1));
  message::Grant grant = GrantOf(Id(1), 2, kGeneration);
  grant.final = false;
  Grant(grant);
  BufferCreated();
  Do([&](NodeContext& context) {
    objects_.OnFinal(context, {node_.At(Id(1)), Id(1), kGeneration});
  });
  EXPECT_NE(node_.requests.Find(get), nullptr);
  TransferDone();
  EXPECT_EQ(node_.requests.Find(get), nullptr);
}

TEST_F(InstalledTest, FindHeldKnowsGenerations) {
  InstallPut(Id(1));
  EXPECT_NE(objects_.FindHeld(Id(1), PutOf(5)), nullptr);
  EXPECT_EQ(objects_.FindHeld(Id(1), PutOf(6)), nullptr);
  EXPECT_EQ(objects_.FindHeld(Id(2), PutOf(5)), nullptr);
  Get(Id(3));
  Grant(GrantOf(Id(3), 2));
  EXPECT_EQ(objects_.FindHeld(Id(3), PutOf(2)), nullptr) << "no buffer yet";
}

// --- Shards that move. ------------------------------------------------------

TEST_F(LocalObjectsTest, AnUnansweredAskGoesToTheNewHost) {
  Get(Id(1));
  const AskNumber ask = last_ask_;
  node_.MoveShardsTo(7);
  Do([&](NodeContext& context) {
    objects_.Resend(context, ShardSet().set(Id(1).shard().value()));
  });
  const auto again = OnlySent<message::Ask>(out_, Ref(7));
  ASSERT_TRUE(again.has_value());
  EXPECT_EQ(again->ask, ask) << "the same ask, not a new one";
  EXPECT_EQ(again->at.epoch, Epoch(2));
}

TEST_F(LocalObjectsTest, AnAskThatResumesSaysSoToTheNewHostToo) {
  Get(Id(1));
  Grant(GrantOf(Id(1), 2));
  BufferCreated();
  TransferFailed(600);
  node_.MoveShardsTo(7);
  Do([&](NodeContext& context) {
    objects_.Resend(context, ShardSet().set(Id(1).shard().value()));
  });
  const auto again = OnlySent<message::Ask>(out_);
  ASSERT_TRUE(again.has_value());
  EXPECT_EQ(again->held, PutOf(2));
  EXPECT_EQ(again->begin, 600u);
}

TEST_F(LocalObjectsTest, OnlyWhatWaitsForThatShardIsAskedAgain) {
  Fetch(Id(1));
  Get(Id(2));
  node_.MoveShardsTo(7);
  Do([&](NodeContext& context) {
    objects_.Resend(context, ShardSet().set(Id(1).shard().value()));
  });
  EXPECT_THAT(out_, IsEmpty());
}

// --- Status and invariants. -------------------------------------------------

TEST_F(LocalObjectsTest, StatusTellsWhatIsHere) {
  Fetch(Id(1));
  EXPECT_TRUE(Pull(1, Id(1)));
  Get(Id(2));
  Grant(GrantOf(Id(2), 7));
  BufferCreated();
  std::vector<LocalObjectStatus> all;
  objects_.AppendStatus(all);
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].state, "complete");
  EXPECT_EQ(all[0].pulls, 1u);
  EXPECT_EQ(all[0].size, kSize);
  EXPECT_EQ(all[1].state, "fetching");
  EXPECT_EQ(all[1].server, Ref(7));
  EXPECT_EQ(all[1].gets, 1u);
}

}  // namespace
}  // namespace hoplite
