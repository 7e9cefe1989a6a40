#include "hoplite/wire/random_message.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "hoplite/base/payload.h"

namespace hoplite {
namespace {

// Fills messages with random content, every field of them.
class Filler {
 public:
  explicit Filler(Random& random) : random_(random) {}

  Message Kind(std::size_t index) {
    return Nth(index, std::make_index_sequence<kMessageKinds>());
  }

 private:
  template <std::size_t... I>
  Message Nth(std::size_t index, std::index_sequence<I...>) {
    Message message;
    ((index == I ? void(message = Filled<I>()) : void()), ...);
    return message;
  }
  template <std::size_t I>
  Message Filled() {
    std::variant_alternative_t<I, Message> message;
    Fill(message);
    return message;
  }

  // --- Values. ---
  void Fill(std::uint64_t& to) { to = random_.Next() >> random_.Below(64); }
  void Fill(std::uint32_t& to) {
    to = static_cast<std::uint32_t>(random_.Next());
  }
  void Fill(bool& to) { to = random_.Chance(1, 2); }
  void Fill(std::string& to) {
    to.clear();
    for (std::uint64_t i = random_.Below(40); i > 0; --i) {
      to.push_back(static_cast<char>(random_.Below(256)));
    }
  }
  void Fill(Payload& to) {
    std::string bytes;
    Fill(bytes);
    to = random_.Chance(1, 4) ? nullptr : MakePayload(std::move(bytes));
  }
  template <typename Tag, typename Rep>
  void Fill(StrongInt<Tag, Rep>& to) {
    Rep value;
    Fill(value);
    to = StrongInt<Tag, Rep>(value);
  }
  void Fill(ShardId& to) {
    to = ShardId(static_cast<std::uint32_t>(random_.Below(kShardCount)));
  }
  void Fill(ObjectId& to) {
    ObjectId::Bytes bytes;
    for (std::uint8_t& byte : bytes) {
      byte = static_cast<std::uint8_t>(random_.Below(256));
    }
    to = ObjectId(bytes);
  }
  void Fill(NodeRef& to) {
    if (random_.Chance(1, 4)) return;  // none
    All(to.node, to.incarnation);
    if (!to) to = NodeRef();
  }
  void Fill(Generation& to) {
    All(to.node, to.era, to.counter);
    if (!to) to = Generation();
  }
  void Fill(absl::StatusCode& to) {
    to = static_cast<absl::StatusCode>(random_.Below(17));
  }
  void Fill(ReduceOp& to) {
    to = static_cast<ReduceOp>(random_.Below(kReduceOpCount));
  }
  void Fill(DataType& to) {
    to = static_cast<DataType>(random_.Below(kDataTypeCount));
  }
  void Fill(message::SourceState& to) {
    to = static_cast<message::SourceState>(
        random_.Below(static_cast<int>(message::SourceState::kGone) + 1));
  }
  void Fill(message::Holding::State& to) {
    to = static_cast<message::Holding::State>(random_.Below(
        static_cast<int>(message::Holding::State::kComplete) + 1));
  }
  template <typename T>
  void Fill(std::vector<T>& to) {
    to.resize(random_.Below(5));
    for (T& entry : to) Fill(entry);
  }
  template <typename... Fields>
  void All(Fields&... fields) {
    (Fill(fields), ...);
  }

  // --- Structs: each binding fails to compile when a field is added. ---
  void Fill(Member& m) {
    auto& [ref, control, data, agent] = m;
    All(ref, control, data, agent);
  }
  void Fill(ShardRef& m) {
    auto& [shard, epoch] = m;
    All(shard, epoch);
  }
  void Fill(ShardAssignment& m) {
    auto& [at, host, rebuilds] = m;
    All(at, host, rebuilds);
  }
  void Fill(message::MemberJoined& m) {
    auto& [a] = m;
    All(a);
  }
  void Fill(message::MemberLost& m) {
    auto& [a] = m;
    All(a);
  }
  void Fill(message::Leave&) {}
  void Fill(message::MapUpdate& m) {
    auto& [a] = m;
    All(a);
  }
  void Fill(message::CloseShards& m) {
    auto& [a] = m;
    All(a);
  }
  void Fill(message::ShardsClosed& m) {
    auto& [a] = m;
    All(a);
  }
  void Fill(message::StaleEpoch& m) {
    auto& [a] = m;
    All(a);
  }
  void Fill(message::Ask& m) {
    auto& [a, b, c, d, e, f] = m;
    All(a, b, c, d, e, f);
  }
  void Fill(message::Grant& m) {
    auto& [a, b, c, d, e, f, g, h] = m;
    All(a, b, c, d, e, f, g, h);
  }
  void Fill(message::GrantInline& m) {
    auto& [a, b, c, d, e] = m;
    All(a, b, c, d, e);
  }
  void Fill(message::Refusal& m) {
    auto& [a, b, c, d, e] = m;
    All(a, b, c, d, e);
  }
  void Fill(message::Withdraw& m) {
    auto& [a, b, c] = m;
    All(a, b, c);
  }
  void Fill(message::CopyComplete& m) {
    auto& [a, b, c] = m;
    All(a, b, c);
  }
  void Fill(message::PutBegun& m) {
    auto& [a, b, c, d, e, f, g] = m;
    All(a, b, c, d, e, f, g);
  }
  void Fill(message::PutAnswer& m) {
    auto& [a, b, c, d] = m;
    All(a, b, c, d);
  }
  void Fill(message::PutSealed& m) {
    auto& [a, b, c] = m;
    All(a, b, c);
  }
  void Fill(message::PutAborted& m) {
    auto& [a, b, c] = m;
    All(a, b, c);
  }
  void Fill(message::DeleteAsk& m) {
    auto& [a, b, c] = m;
    All(a, b, c);
  }
  void Fill(message::DeleteAnswer& m) {
    auto& [a, b, c] = m;
    All(a, b, c);
  }
  void Fill(message::Drop& m) {
    auto& [a, b, c, d, e] = m;
    All(a, b, c, d, e);
  }
  void Fill(message::Dropped& m) {
    auto& [a, b, c] = m;
    All(a, b, c);
  }
  void Fill(message::EvictEntry& m) {
    auto& [a, b, c] = m;
    All(a, b, c);
  }
  void Fill(message::EvictAsk& m) {
    auto& [a] = m;
    All(a);
  }
  void Fill(message::EvictAnswer& m) {
    auto& [a, b] = m;
    All(a, b);
  }
  void Fill(message::Holding& m) {
    auto& [a, b, c, d, e, f, g, h, i] = m;
    All(a, b, c, d, e, f, g, h, i);
  }
  void Fill(message::Holdings& m) {
    auto& [a, b, c, d] = m;
    All(a, b, c, d);
  }
  void Fill(message::HoldingsAsk& m) {
    auto& [a] = m;
    All(a);
  }
  void Fill(message::Final& m) {
    auto& [a, b, c] = m;
    All(a, b, c);
  }
  void Fill(message::ReduceAsk& m) {
    auto& [a, b, c, d, e, f, g] = m;
    All(a, b, c, d, e, f, g);
  }
  void Fill(message::ReduceAnswer& m) {
    auto& [a, b, c, d, e] = m;
    All(a, b, c, d, e);
  }
  void Fill(message::WatchEntry& m) {
    auto& [a, b, c] = m;
    All(a, b, c);
  }
  void Fill(message::WatchSources& m) {
    auto& [a, b] = m;
    All(a, b);
  }
  void Fill(message::UnwatchSources& m) {
    auto& [a, b] = m;
    All(a, b);
  }
  void Fill(message::SourceEntry& m) {
    auto& [a, b, c, d, e, f] = m;
    All(a, b, c, d, e, f);
  }
  void Fill(message::SourceNews& m) {
    auto& [a, b] = m;
    All(a, b);
  }
  void Fill(message::ReduceInput& m) {
    auto& [a, b, c] = m;
    All(a, b, c);
  }
  void Fill(message::Assignment& m) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l, n] = m;
    All(a, b, c, d, e, f, g, h, i, j, k, l, n);
  }
  void Fill(message::AssignmentFailed& m) {
    auto& [a, b, c, d, e, f] = m;
    All(a, b, c, d, e, f);
  }
  void Fill(message::Release& m) {
    auto& [a, b, c] = m;
    All(a, b, c);
  }

  Random& random_;
};

}  // namespace

Message RandomMessage(std::size_t kind, Random& random) {
  return Filler(random).Kind(kind);
}

}  // namespace hoplite
