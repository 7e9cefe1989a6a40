#include "hoplite/wire/codec.h"

#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "hoplite/base/payload.h"
#include "hoplite/base/random.h"
#include "hoplite/core/config.h"
#include "hoplite/wire/random_message.h"

namespace hoplite::wire {
namespace {

std::uint64_t FreshSeed() { return std::random_device{}(); }

// Through bytes, as on the wire.
absl::StatusOr<hoplite::Message> PassOn(const hoplite::Message& message) {
  const absl::StatusOr<Envelope> envelope = Encode(message);
  if (!envelope.ok()) return envelope.status();
  Envelope read;
  EXPECT_TRUE(read.ParseFromString(envelope->SerializeAsString()));
  return Decode(std::move(read));
}

void ExpectInvalid(const absl::Status& status, absl::string_view field) {
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(status.message().find(field), absl::string_view::npos) << status;
}

TEST(CodecTest, EveryMessageComesBackAsItWas) {
  const std::uint64_t seed = FreshSeed();
  SCOPED_TRACE(absl::StrCat("seed ", seed));
  Random random(seed);
  for (std::size_t kind = 0; kind < kMessageKinds; ++kind) {
    for (int i = 0; i < 50; ++i) {
      const hoplite::Message message = RandomMessage(kind, random);
      ASSERT_EQ(message.index(), kind);
      const absl::StatusOr<hoplite::Message> read = PassOn(message);
      ASSERT_TRUE(read.ok()) << read.status() << DebugString(message);
      ASSERT_TRUE(*read == message) << DebugString(message) << "\n"
                                    << DebugString(*read);
    }
  }
}

TEST(CodecTest, RandomBytesAreNeverMoreThanAnError) {
  const std::uint64_t seed = FreshSeed();
  SCOPED_TRACE(absl::StrCat("seed ", seed));
  Random random(seed);
  for (int i = 0; i < 20000; ++i) {
    // Bytes of nothing, or of a message with some of them changed.
    std::string bytes;
    if (i % 2 == 0) {
      bytes.resize(random.Below(200));
      for (char& byte : bytes) byte = static_cast<char>(random.Below(256));
    } else {
      bytes = Encode(RandomMessage(random.Below(kMessageKinds), random))
                  ->SerializeAsString();
      for (int j = 0; j < 3 && !bytes.empty(); ++j) {
        bytes[random.Below(bytes.size())] =
            static_cast<char>(random.Below(256));
      }
    }
    Envelope envelope;
    if (!envelope.ParseFromString(bytes)) continue;
    const absl::StatusOr<hoplite::Message> message = Decode(envelope);
    // What is taken can be passed on.
    if (!message.ok()) continue;
    EXPECT_TRUE(PassOn(*message).ok());
  }
}

TEST(CodecTest, DecodingNamesTheFieldThatIsNotValid) {
  Envelope envelope;
  ExpectInvalid(Decode(envelope).status(), "kind");
  envelope.mutable_release()->set_target(std::string(27, 'x'));
  ExpectInvalid(Decode(envelope).status(), "Release.target");
  const std::string id(28, 'x');
  envelope.mutable_ask()->set_object(id);
  envelope.mutable_ask()->mutable_at()->set_shard(kShardCount);
  ExpectInvalid(Decode(envelope).status(), "ShardRef.shard");
  envelope.mutable_refusal()->set_object(id);
  envelope.mutable_refusal()->set_code(17);
  ExpectInvalid(Decode(envelope).status(), "Refusal.code");
  envelope.mutable_reduce_ask()->set_target(id);
  envelope.mutable_reduce_ask()->set_op(kReduceOpCount);
  ExpectInvalid(Decode(envelope).status(), "ReduceAsk.op");
  envelope.mutable_reduce_ask()->set_op(0);
  envelope.mutable_reduce_ask()->set_type(kDataTypeCount);
  ExpectInvalid(Decode(envelope).status(), "ReduceAsk.type");
  envelope.mutable_put_begun()->set_object(id);
  envelope.mutable_put_begun()->set_payload(
      std::string(kInlineBytesMax + 1, 'x'));
  ExpectInvalid(Decode(envelope).status(), "PutBegun.payload");
  auto* entry = envelope.mutable_source_news()->add_entries();
  envelope.mutable_source_news()->set_target(id);
  entry->set_object(id);
  entry->set_state(4);
  ExpectInvalid(Decode(envelope).status(), "SourceEntry.state");
  for (std::uint32_t i = 0; i <= kShardCount; ++i) {
    envelope.mutable_close_shards()->add_shards();
  }
  ExpectInvalid(Decode(envelope).status(), "CloseShards.shards");
}

TEST(CodecTest, EncodingNamesTheFieldThatIsNotValid) {
  message::Ask ask;
  ask.at.shard = ShardId(kShardCount);
  ExpectInvalid(Encode(ask).status(), "shard");
  message::PutBegun put;
  put.payload = MakePayload(std::string(kInlineBytesMax + 1, 'x'));
  ExpectInvalid(Encode(put).status(), "PutBegun.payload");
  message::ReduceAsk reduce;
  reduce.sources.resize(kReduceSourcesMax + 1);
  ExpectInvalid(Encode(reduce).status(), "ReduceAsk.sources");
  message::Refusal refusal;
  refusal.code = static_cast<absl::StatusCode>(17);
  ExpectInvalid(Encode(refusal).status(), "Refusal.code");
  message::MemberJoined joined;
  joined.member.data_address = std::string(kAddressBytesMax + 1, 'x');
  ExpectInvalid(Encode(joined).status(), "address");
  joined.member.data_address.swap(joined.member.agent_address);
  ExpectInvalid(Encode(joined).status(), "address");
  message::EvictAsk evict;
  evict.entries.resize(kListLengthMax + 1);
  ExpectInvalid(Encode(evict).status(), "EvictAsk.entries");
}

// Seen: what was decoded was another message when it had been passed on.
TEST(CodecTest, NobodyHasNoLifeAndNoGenerationNoEra) {
  Envelope envelope;
  auto* failed = envelope.mutable_assignment_failed();
  failed->set_target(std::string(ObjectId::kSize, 'x'));
  failed->mutable_lost()->set_incarnation(2);
  failed->mutable_output()->set_era(5);
  const absl::StatusOr<Message> message = Decode(std::move(envelope));
  ASSERT_TRUE(message.ok()) << message.status();
  const auto& decoded = std::get<message::AssignmentFailed>(*message);
  EXPECT_EQ(decoded.lost, hoplite::NodeRef());
  EXPECT_EQ(decoded.output, hoplite::Generation());
}

TEST(CodecTest, ALongReasonIsCutOff) {
  message::Refusal refusal;
  refusal.reason = std::string(10 * kReasonBytesMax, 'x');
  const absl::StatusOr<hoplite::Message> read = PassOn(refusal);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(std::get<message::Refusal>(*read).reason,
            std::string(kReasonBytesMax, 'x'));
}

// grpc/grpc#19221, protobuf#11729: messages without a bound.
TEST(CodecTest, NoEnvelopeIsLargerThanABatch) {
  message::ReduceAsk reduce;
  reduce.sources.resize(kReduceSourcesMax);
  const absl::StatusOr<Envelope> largest = Encode(reduce);
  ASSERT_TRUE(largest.ok()) << largest.status();
  EXPECT_LT(BytesInBatch(*largest), kMaxBatchBytes);
  message::SourceNews news;
  news.entries.resize(kMaxBatchBytes / kInlineBytesMax);
  for (message::SourceEntry& entry : news.entries) {
    entry.payload = MakePayload(std::string(kInlineBytesMax, 'x'));
  }
  EXPECT_EQ(Encode(news).status().code(), absl::StatusCode::kResourceExhausted);
}

TEST(CodecTest, AnEmptyPayloadIsNotNone) {
  message::PutBegun put;
  put.payload = MakePayload("");
  const absl::StatusOr<hoplite::Message> read = PassOn(put);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_NE(std::get<message::PutBegun>(*read).payload, nullptr);
}

}  // namespace
}  // namespace hoplite::wire
