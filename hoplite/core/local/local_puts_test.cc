#include "hoplite/core/local/local_puts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "hoplite/core/testing/local_node.h"

namespace hoplite {
namespace {

using testing::All;
using ::testing::HasSubstr;
using testing::Id;
using ::testing::IsEmpty;
using testing::LocalNode;
using testing::Only;
using testing::OnlySent;
using testing::Ref;
using testing::Sent;

class LocalPutsTest : public ::testing::Test {
 protected:
  LocalPutsTest() : puts_(objects_) {
    puts_.SetLink({.latency = absl::Microseconds(100),
                   .bytes_per_second = 125e6});  // small is up to 25,000
  }
  ~LocalPutsTest() override {
    EXPECT_EQ(objects_.CheckInvariants(node_.buffers), "");
  }

  // A Put whose client fills its buffer itself.
  RequestId Put(const ObjectId& object, std::uint64_t size = 1000,
                bool streams = false) {
    const RequestId request = node_.Enter(RequestKind::kPut, object);
    Do([&](NodeContext& context) {
      puts_.OnPut(context, {.request = request,
                            .object = object,
                            .size = size,
                            .streams = streams});
    });
    return request;
  }
  RequestId PutBytes(const ObjectId& object, std::string bytes) {
    const RequestId request = node_.Enter(RequestKind::kPut, object);
    Do([&](NodeContext& context) {
      puts_.OnPut(context, {.request = request,
                            .object = object,
                            .payload = MakePayload(std::move(bytes))});
    });
    return request;
  }
  void BufferCreated(RequestId request) {
    Do([&](NodeContext& context) {
      ASSERT_NE(node_.buffers.OnCreated(last_buffer_, context.out), nullptr);
      puts_.OnBufferCreated(context, request);
    });
  }
  void BufferRefused(RequestId request, std::uint64_t capacity = 2000) {
    Do([&](NodeContext& context) {
      ASSERT_TRUE(node_.buffers.TakeRefused(last_buffer_).has_value());
      puts_.OnBufferRefused(context, request, capacity);
    });
  }
  void Filled(RequestId request) {
    Do([&](NodeContext& context) { puts_.OnFilled(context, request); });
  }
  void Answer(const ObjectId& object,
              absl::StatusCode code = absl::StatusCode::kOk) {
    Do([&](NodeContext& context) {
      puts_.OnAnswer(context, {.at = node_.At(object),
                               .object = object,
                               .generation = last_generation_,
                               .code = code});
    });
  }
  void EndPut(RequestId request,
              absl::StatusCode code = absl::StatusCode::kDeadlineExceeded) {
    Do([&](NodeContext& context) {
      puts_.EndPut(context, request, code, "when the deadline came");
    });
  }
  // As the node does: this machine first, then the objects.
  void Drop(const ObjectId& object) {
    const message::Drop drop{.at = node_.At(object),
                             .object = object,
                             .generation = last_generation_,
                             .reason = "it was deleted"};
    Do([&](NodeContext& context) {
      puts_.OnDrop(context, drop);
      objects_.OnDrop(context, Ref(LocalNode::kHost), drop);
    });
  }

  template <typename Act>
  void Do(Act act) {
    out_ = node_.Do(act);
    for (const auto& begun : Sent<message::PutBegun>(out_)) {
      last_generation_ = begun.generation;
    }
    for (const auto& create : All<command::CreateBuffer>(out_)) {
      last_buffer_ = create.buffer;
    }
  }
  absl::StatusCode AnswerCode() const {
    const auto answer = Only<command::AnswerRequest>(out_);
    return answer.has_value() ? answer->code : absl::StatusCode::kUnknown;
  }
  std::string AnswerDetail() const {
    const auto answer = Only<command::AnswerRequest>(out_);
    return answer.has_value() ? answer->detail : "";
  }

  LocalNode node_;
  LocalObjects objects_;
  LocalPuts puts_;
  Commands out_;
  Generation last_generation_;
  BufferId last_buffer_;
};

TEST_F(LocalPutsTest, APutTakesRoomThenRegisters) {
  const RequestId put = Put(Id(1));
  EXPECT_EQ(Only<command::CreateBuffer>(out_)->size, 1000u);
  EXPECT_THAT(Sent<message::PutBegun>(out_), IsEmpty());
  BufferCreated(put);
  const auto begun = OnlySent<message::PutBegun>(out_, Ref(LocalNode::kHost));
  ASSERT_TRUE(begun.has_value());
  EXPECT_EQ(begun->at, node_.At(Id(1)));
  EXPECT_EQ(begun->size, 1000u);
  EXPECT_FALSE(begun->sealed);
  EXPECT_EQ(begun->payload, nullptr);
  EXPECT_EQ(begun->generation.node, NodeId(LocalNode::kSelf));
  EXPECT_EQ(Only<command::HandBuffer>(out_)->request, put);
  EXPECT_EQ(Only<command::HandBuffer>(out_)->buffer, last_buffer_);
}

TEST_F(LocalPutsTest, APutEndsWhenItIsAcceptedAndThenFilled) {
  const RequestId put = Put(Id(1));
  BufferCreated(put);
  Answer(Id(1));
  EXPECT_THAT(All<command::AnswerRequest>(out_), IsEmpty());
  Filled(put);
  EXPECT_TRUE(OnlySent<message::PutSealed>(out_).has_value());
  EXPECT_EQ(AnswerCode(), absl::StatusCode::kOk);
  EXPECT_THAT(All<command::ReleaseBuffer>(out_), IsEmpty()) << "it stays here";
  EXPECT_NE(objects_.FindHeld(Id(1), last_generation_), nullptr);
}

TEST_F(LocalPutsTest, APutMayBeFilledBeforeItIsAccepted) {
  const RequestId put = Put(Id(1));
  BufferCreated(put);
  Filled(put);
  EXPECT_THAT(out_, IsEmpty());
  Answer(Id(1));
  EXPECT_TRUE(OnlySent<message::PutSealed>(out_).has_value());
  EXPECT_EQ(AnswerCode(), absl::StatusCode::kOk);
}

TEST_F(LocalPutsTest, FilledBeforeItsBufferIsAMistakeOfTheClientOnly) {
  const RequestId put = Put(Id(1));
  Filled(put);
  Filled(RequestId(99));
  EXPECT_THAT(out_, IsEmpty());
}

TEST_F(LocalPutsTest, ASmallObjectsBytesGoAlong) {
  const RequestId put = PutBytes(Id(1), "small");
  ASSERT_NE(Only<command::CreateBuffer>(out_)->payload, nullptr);
  BufferCreated(put);
  const auto begun = OnlySent<message::PutBegun>(out_);
  ASSERT_TRUE(begun.has_value());
  EXPECT_TRUE(begun->sealed);
  ASSERT_NE(begun->payload, nullptr);
  EXPECT_EQ(*begun->payload, "small");
  EXPECT_THAT(All<command::HandBuffer>(out_), IsEmpty());
  Answer(Id(1));
  EXPECT_EQ(AnswerCode(), absl::StatusCode::kOk);
  EXPECT_THAT(Sent<message::PutSealed>(out_), IsEmpty()) << "it was said";
}

TEST_F(LocalPutsTest, OfAnObjectThatIsNotSmallOnlyTheSizeGoes) {
  const RequestId put = PutBytes(Id(1), std::string(25'001, 'x'));
  BufferCreated(put);
  const auto begun = OnlySent<message::PutBegun>(out_);
  ASSERT_TRUE(begun.has_value());
  EXPECT_TRUE(begun->sealed);
  EXPECT_EQ(begun->payload, nullptr);
  EXPECT_EQ(begun->size, 25'001u);
}

TEST_F(LocalPutsTest, AnObjectOfNoBytesIsAnObject) {
  const RequestId put = PutBytes(Id(1), "");
  BufferCreated(put);
  const auto begun = OnlySent<message::PutBegun>(out_);
  ASSERT_NE(begun->payload, nullptr);
  EXPECT_TRUE(begun->payload->empty());
  Answer(Id(1));
  EXPECT_EQ(AnswerCode(), absl::StatusCode::kOk);
}

TEST_F(LocalPutsTest, EveryPutHasAGenerationOfItsOwn) {
  BufferCreated(Put(Id(1)));
  const Generation first = last_generation_;
  BufferCreated(Put(Id(1)));
  EXPECT_NE(last_generation_, first);
  EXPECT_FALSE(first.is_target());
  EXPECT_TRUE(puts_.IsPutting(Id(1), first));
  EXPECT_TRUE(puts_.IsPutting(Id(1), last_generation_));
  EXPECT_FALSE(puts_.IsPutting(Id(2), first));
}

TEST_F(LocalPutsTest, TheStreamFlagIsPassedOn) {
  BufferCreated(Put(Id(1), 1000, /*streams=*/true));
  EXPECT_TRUE(OnlySent<message::PutBegun>(out_)->streams);
}

// --- Refused Puts. ----------------------------------------------------------

TEST_F(LocalPutsTest, ASecondPutOfAnIdIsRefused) {
  const RequestId put = Put(Id(1));
  BufferCreated(put);
  Answer(Id(1), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(AnswerCode(), absl::StatusCode::kAlreadyExists);
  EXPECT_TRUE(Only<command::ReleaseBuffer>(out_)->failed);
  EXPECT_FALSE(puts_.IsPutting(Id(1), last_generation_));
  EXPECT_EQ(node_.buffers.size(), 0u);
}

TEST_F(LocalPutsTest, APutOfADeletedIdIsRefused) {
  BufferCreated(Put(Id(1)));
  Answer(Id(1), absl::StatusCode::kNotFound);
  EXPECT_EQ(AnswerCode(), absl::StatusCode::kNotFound);
  EXPECT_THAT(AnswerDetail(), HasSubstr("deleted"));
}

TEST_F(LocalPutsTest, AnyOtherRefusalIsTold) {
  BufferCreated(Put(Id(1)));
  Answer(Id(1), absl::StatusCode::kInternal);
  EXPECT_EQ(AnswerCode(), absl::StatusCode::kInternal);
}

TEST_F(LocalPutsTest, AnAnswerIsHeardOnce) {
  BufferCreated(Put(Id(1)));
  Answer(Id(1));
  Answer(Id(1));
  EXPECT_THAT(out_, IsEmpty());
  Answer(Id(1), absl::StatusCode::kAlreadyExists);
  EXPECT_THAT(out_, IsEmpty()) << "late, of the host before";
}

TEST_F(LocalPutsTest, AnAnswerToAnotherPutIsIgnored) {
  BufferCreated(Put(Id(1)));
  last_generation_.counter += 5;
  Answer(Id(1));
  EXPECT_THAT(out_, IsEmpty());
}

// --- Room. ------------------------------------------------------------------

TEST_F(LocalPutsTest, APutThatFindsNoRoomWaits) {
  const RequestId put = Put(Id(1));
  BufferRefused(put);
  EXPECT_THAT(out_, IsEmpty());
  EXPECT_EQ(node_.buffers.TakeWaiting(),
            (std::vector<BufferOwner>{PutOwner{put, Id(1)}}));
  Do([&](NodeContext& context) { puts_.TryAgain(context, put); });
  EXPECT_TRUE(Only<command::CreateBuffer>(out_).has_value());
  Do([&](NodeContext& context) { puts_.TryAgain(context, put); });
  EXPECT_THAT(out_, IsEmpty()) << "it is being tried";
  BufferCreated(put);
  EXPECT_TRUE(OnlySent<message::PutBegun>(out_).has_value());
}

TEST_F(LocalPutsTest, WhatNeverFitsIsRefusedNamingBothSizes) {
  const RequestId put = Put(Id(1));
  BufferRefused(put, /*capacity=*/999);
  EXPECT_EQ(AnswerCode(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(AnswerDetail(), HasSubstr("1000 bytes"));
  EXPECT_THAT(AnswerDetail(), HasSubstr("999 bytes"));
  EXPECT_FALSE(node_.buffers.anyone_waits());
}

TEST_F(LocalPutsTest, APutWithoutRoomSaysSoAtItsDeadline) {
  const RequestId put = Put(Id(1));
  BufferRefused(put);
  EndPut(put);
  EXPECT_EQ(AnswerCode(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(AnswerDetail(), HasSubstr("no room"));
  EXPECT_FALSE(node_.buffers.anyone_waits());
  EXPECT_THAT(Sent<message::PutAborted>(out_), IsEmpty()) << "never begun";
}

TEST_F(LocalPutsTest, ACancelledPutWithoutRoomIsCancelled) {
  const RequestId put = Put(Id(1));
  BufferRefused(put);
  EndPut(put, absl::StatusCode::kCancelled);
  EXPECT_EQ(AnswerCode(), absl::StatusCode::kCancelled);
}

// --- Ends before Seal. ------------------------------------------------------

TEST_F(LocalPutsTest, APutThatEndsBeforeItIsAcceptedNeverWas) {
  const RequestId put = Put(Id(1));
  BufferCreated(put);
  EndPut(put);
  EXPECT_TRUE(OnlySent<message::PutAborted>(out_).has_value());
  EXPECT_EQ(AnswerCode(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(AnswerDetail(), HasSubstr("had not accepted it"));
  EXPECT_TRUE(Only<command::ReleaseBuffer>(out_)->failed);
  Answer(Id(1));
  EXPECT_THAT(out_, IsEmpty()) << "an acceptance that comes late";
  EXPECT_EQ(node_.buffers.size(), 0u);
}

TEST_F(LocalPutsTest, APutThatEndsBeforeItsSealNeverWas) {
  const RequestId put = Put(Id(1));
  BufferCreated(put);
  Answer(Id(1));
  EndPut(put, absl::StatusCode::kCancelled);
  EXPECT_TRUE(OnlySent<message::PutAborted>(out_).has_value());
  EXPECT_EQ(AnswerCode(), absl::StatusCode::kCancelled);
  EXPECT_THAT(AnswerDetail(), HasSubstr("had not sealed it"));
  EXPECT_TRUE(Only<command::ReleaseBuffer>(out_)->failed);
  EXPECT_EQ(node_.buffers.size(), 0u);
  Filled(put);
  EXPECT_THAT(out_, IsEmpty());
}

TEST_F(LocalPutsTest, GetsHereWaitOnAfterAnAbortedPut) {
  const RequestId get = node_.Enter(RequestKind::kGet, Id(1));
  Do([&](NodeContext& context) { objects_.OnGet(context, get, Id(1)); });
  const RequestId put = Put(Id(1));
  BufferCreated(put);
  Answer(Id(1));
  EndPut(put);
  ASSERT_EQ(Sent<message::PutAborted>(out_).size(), 1u);
  ASSERT_EQ(Sent<message::Ask>(out_).size(), 1u);
  EXPECT_NE(node_.requests.Find(get), nullptr);
}

TEST_F(LocalPutsTest, GetsHereAskAgainAfterAPutThatWasNeverAccepted) {
  const RequestId get = node_.Enter(RequestKind::kGet, Id(1));
  Do([&](NodeContext& context) { objects_.OnGet(context, get, Id(1)); });
  const RequestId put = Put(Id(1));
  BufferCreated(put);
  EndPut(put);
  // In this order: the ask must find no trace of the Put.
  std::vector<std::string> sent;
  for (const auto& send : All<command::Send>(out_)) {
    sent.push_back(DebugString(send.message));
  }
  ASSERT_EQ(sent.size(), 2u);
  EXPECT_THAT(sent[0], HasSubstr("PutAborted"));
  EXPECT_THAT(sent[1], HasSubstr("Ask"));
}

TEST_F(LocalPutsTest, EndingWhatHasEndedIsHarmless) {
  EndPut(RequestId(42));
  EXPECT_THAT(out_, IsEmpty());
}

// Symptom: a reduction failed for a source that nobody had deleted. Cause: a
// Put was undone that others had seen, when its client gave it up on the way.
TEST_F(LocalPutsTest, APutWhoseBytesWentAlongGoesOnWithoutItsClient) {
  const RequestId put = PutBytes(Id(1), "small");
  BufferCreated(put);
  EndPut(put);
  EXPECT_EQ(AnswerCode(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(Sent<message::PutAborted>(out_), IsEmpty());
  EXPECT_TRUE(puts_.IsPutting(Id(1), last_generation_));
  Answer(Id(1));
  EXPECT_THAT(All<command::AnswerRequest>(out_), IsEmpty()) << "told before";
  EXPECT_NE(objects_.FindHeld(Id(1), last_generation_), nullptr);
  EXPECT_FALSE(puts_.IsPutting(Id(1), last_generation_));
}

TEST_F(LocalPutsTest, APutWithoutItsClientMayStillBeRefused) {
  const RequestId put = PutBytes(Id(1), "small");
  BufferCreated(put);
  EndPut(put, absl::StatusCode::kCancelled);
  Answer(Id(1), absl::StatusCode::kAlreadyExists);
  EXPECT_TRUE(Only<command::ReleaseBuffer>(out_).has_value());
  EXPECT_EQ(node_.buffers.size(), 0u);
}

// --- Delete, while the Put is under way. ------------------------------------

TEST_F(LocalPutsTest, ADeletedObjectsPutEnds) {
  const RequestId put = Put(Id(1));
  BufferCreated(put);
  Answer(Id(1));
  Drop(Id(1));
  EXPECT_EQ(AnswerCode(), absl::StatusCode::kNotFound);
  EXPECT_TRUE(OnlySent<message::Dropped>(out_).has_value());
  EXPECT_TRUE(Only<command::ReleaseBuffer>(out_)->failed);
  EXPECT_EQ(node_.buffers.size(), 0u);
  Filled(put);
  EXPECT_THAT(out_, IsEmpty());
}

TEST_F(LocalPutsTest, ADropAfterTheSealLeavesTheAnswerAlone) {
  const RequestId put = Put(Id(1));
  BufferCreated(put);
  Answer(Id(1));
  Filled(put);
  Drop(Id(1));
  EXPECT_THAT(All<command::AnswerRequest>(out_), IsEmpty());
  EXPECT_FALSE(Only<command::ReleaseBuffer>(out_)->failed);
}

// --- Shards that move. ------------------------------------------------------

TEST_F(LocalPutsTest, APutThatIsNotAcceptedRegistersWithTheNewHost) {
  const RequestId put = PutBytes(Id(1), "small");
  BufferCreated(put);
  const Generation generation = last_generation_;
  node_.MoveShardsTo(7);
  Do([&](NodeContext& context) {
    puts_.Resend(context, ShardSet().set(Id(1).shard().value()));
  });
  const auto begun = OnlySent<message::PutBegun>(out_, Ref(7));
  ASSERT_TRUE(begun.has_value());
  EXPECT_EQ(begun->generation, generation);
  EXPECT_EQ(begun->at.epoch, Epoch(2));
  EXPECT_NE(begun->payload, nullptr);
}

// Seen: the copy's buffer was never given back.
TEST_F(LocalPutsTest, WhatANewHostGrantsOfAnotherCopyGivesWayToThePut) {
  const RequestId get = node_.Enter(RequestKind::kGet, Id(1));
  Do([&](NodeContext& context) { objects_.OnGet(context, get, Id(1)); });
  const AskNumber ask = OnlySent<message::Ask>(out_)->ask;
  const RequestId put = PutBytes(Id(1), "small");
  BufferCreated(put);
  const BufferId own = last_buffer_;
  node_.MoveShardsTo(7);
  Do([&](NodeContext& context) {
    objects_.OnGrant(context, {.at = node_.At(Id(1)),
                               .object = Id(1),
                               .ask = ask,
                               .generation = last_generation_,
                               .size = 5,
                               .frame_bytes = 4096,
                               .server = Ref(9),
                               .final = true});
  });
  Do([&](NodeContext& context) {
    ASSERT_NE(node_.buffers.OnCreated(last_buffer_, context.out), nullptr);
    objects_.OnBufferCreated(context, Id(1), last_buffer_);
  });
  const auto start = Only<command::StartTransfer>(out_);
  ASSERT_TRUE(start.has_value());
  Answer(Id(1));
  EXPECT_EQ(Only<command::CancelTransfer>(out_)->transfer, start->transfer);
  EXPECT_EQ(Only<command::ReleaseBuffer>(out_)->buffer, start->buffer);
  const auto answers = All<command::AnswerRequest>(out_);
  ASSERT_EQ(answers.size(), 2u);
  EXPECT_EQ(answers[0].request, get);
  EXPECT_EQ(answers[0].buffer, own);
}

TEST_F(LocalPutsTest, NothingElseIsSentAgain) {
  const RequestId accepted = Put(Id(1));
  BufferCreated(accepted);
  Answer(Id(1));
  Put(Id(1));  // without a buffer yet
  node_.MoveShardsTo(7);
  Do([&](NodeContext& context) {
    for (std::uint32_t i = 0; i < kShardCount; ++i) {
      puts_.Resend(context, ShardSet().set(i));
    }
  });
  EXPECT_THAT(out_, IsEmpty());
}

}  // namespace
}  // namespace hoplite
