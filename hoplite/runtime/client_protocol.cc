#include "hoplite/runtime/client_protocol.h"

#include <array>
#include <cstddef>
#include <limits>
#include <type_traits>
#include <utility>

namespace hoplite {
namespace {

namespace m = client_message;

// True for T and const T.
template <typename Message, typename T>
concept Is = std::is_same_v<std::remove_const_t<Message>, T>;

// Every message's fields, in order, for encoder and decoder alike.
template <typename Visit, Is<m::Hello> Message>
void Fields(Visit& visit, Message& hello) {
  visit(hello.version);
}
template <typename Visit, Is<m::Put> Message>
void Fields(Visit& visit, Message& put) {
  visit(put.number);
  visit(put.object);
  visit(put.size);
  visit(put.timeout);
  visit(put.streams);
  visit(put.payload);
}
template <typename Visit, Is<m::Advance> Message>
void Fields(Visit& visit, Message& advance) {
  visit(advance.number);
  visit(advance.to);
}
template <typename Visit, typename Message>
requires Is<Message, m::Seal> || Is<Message, m::Release> ||
    Is<Message, m::Cancel> || Is<Message, m::ReportAsk>
void Fields(Visit& visit, Message& message) { visit(message.number); }
template <typename Visit, typename Message>
requires Is<Message, m::Get> || Is<Message, m::Delete>
void Fields(Visit& visit, Message& message) {
  visit(message.number);
  visit(message.object);
  visit(message.timeout);
}
template <typename Visit, Is<m::Reduce> Message>
void Fields(Visit& visit, Message& reduce) {
  visit(reduce.number);
  visit(reduce.target);
  visit(reduce.sources);
  visit(reduce.count);
  visit(reduce.op);
  visit(reduce.type);
  visit(reduce.timeout);
}
template <typename Visit, Is<m::Welcome> Message>
void Fields(Visit& visit, Message& welcome) {
  visit(welcome.version);
  visit(welcome.store_capacity);
}
template <typename Visit, Is<m::Room> Message>
void Fields(Visit& visit, Message& room) {
  visit(room.number);
  visit(room.offset);
  visit(room.size);
}
template <typename Visit, Is<m::Answer> Message>
void Fields(Visit& visit, Message& answer) {
  visit(answer.number);
  visit(answer.code);
  visit(answer.text);
  visit(answer.offset);
  visit(answer.size);
  visit(answer.sources);
}
template <typename Visit, Is<m::ReportAnswer> Message>
void Fields(Visit& visit, Message& report) {
  visit(report.number);
  visit(report.json);
}

constexpr std::int64_t kNoTimeout = std::numeric_limits<std::int64_t>::max();

class Encoder {
 public:
  explicit Encoder(std::string* out) : out_(out) {}

  template <typename T>
  requires std::is_unsigned_v<T>
  void operator()(T value) {
    for (std::size_t i = 0; i < sizeof(T); ++i) {
      out_->push_back(static_cast<char>(value >> (8 * i)));
    }
  }
  template <typename T>
  requires std::is_enum_v<T>
  void operator()(T value) { (*this)(static_cast<std::uint8_t>(value)); }
  void operator()(absl::Duration value) {
    (*this)(static_cast<std::uint64_t>(value == absl::InfiniteDuration()
                                           ? kNoTimeout
                                           : absl::ToInt64Nanoseconds(value)));
  }
  void operator()(const ObjectId& id) { AppendBytes(id.binary()); }
  void operator()(const std::string& text) {
    (*this)(static_cast<std::uint32_t>(text.size()));
    AppendBytes(text);
  }
  void operator()(const std::optional<std::string>& text) {
    (*this)(text.has_value());
    if (text.has_value()) (*this)(*text);
  }
  void operator()(const std::vector<ObjectId>& ids) {
    (*this)(static_cast<std::uint32_t>(ids.size()));
    for (const ObjectId& id : ids) (*this)(id);
  }

 private:
  void AppendBytes(absl::string_view bytes) {
    out_->append(bytes.data(), bytes.size());
  }

  std::string* const out_;
};

// Reads what Encoder writes; garbage makes ok() false, and nothing more is
// read. Never takes more memory than the frame has bytes.
class Decoder {
 public:
  explicit Decoder(absl::string_view in) : in_(in) {}

  bool ok() const { return ok_; }
  // All of it was read, and understood.
  bool done() const { return ok_ && in_.empty(); }

  void operator()(bool& value) {
    std::uint8_t byte = 0;
    (*this)(byte);
    ok_ = ok_ && byte <= 1;
    value = byte == 1;
  }
  template <typename T>
  requires std::is_unsigned_v<T>
  void operator()(T& value) {
    const absl::string_view bytes = Take(sizeof(T));
    value = 0;
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      value |= static_cast<T>(
          static_cast<T>(static_cast<std::uint8_t>(bytes[i])) << (8 * i));
    }
  }
  void operator()(ReduceOp& op) { Enum(op, kReduceOpCount); }
  void operator()(DataType& type) { Enum(type, kDataTypeCount); }
  void operator()(absl::StatusCode& code) {
    Enum(code,
         static_cast<std::size_t>(absl::StatusCode::kUnauthenticated) + 1);
  }
  void operator()(absl::Duration& value) {
    std::uint64_t nanoseconds = 0;
    (*this)(nanoseconds);
    const auto count = static_cast<std::int64_t>(nanoseconds);
    value = count == kNoTimeout ? absl::InfiniteDuration()
                                : absl::Nanoseconds(count);
  }
  void operator()(ObjectId& id) {
    id = ObjectId::FromBinary(Take(ObjectId::kSize)).value_or(ObjectId());
  }
  void operator()(std::string& text) {
    std::uint32_t size = 0;
    (*this)(size);
    text = std::string(Take(size));
  }
  void operator()(std::optional<std::string>& text) {
    bool has_value = false;
    (*this)(has_value);
    if (has_value) (*this)(text.emplace());
  }
  void operator()(std::vector<ObjectId>& ids) {
    std::uint32_t count = 0;
    (*this)(count);
    ok_ = ok_ && count <= in_.size() / ObjectId::kSize;
    if (!ok_) return;
    ids.resize(count);
    for (ObjectId& id : ids) (*this)(id);
  }

 private:
  template <typename T>
  void Enum(T& value, std::size_t count) {
    std::uint8_t number = 0;
    (*this)(number);
    ok_ = ok_ && number < count;
    if (ok_) value = static_cast<T>(number);
  }
  // Empty where there are fewer bytes.
  absl::string_view Take(std::size_t size) {
    ok_ = ok_ && size <= in_.size();
    if (!ok_) return {};
    const absl::string_view taken = in_.substr(0, size);
    in_.remove_prefix(size);
    return taken;
  }

  absl::string_view in_;
  bool ok_ = true;
};

template <std::size_t kIndex>
std::optional<ClientMessage> DecodeAs(absl::string_view body) {
  std::variant_alternative_t<kIndex, ClientMessage> message;
  Decoder decoder(body);
  Fields(decoder, message);
  if (!decoder.done()) return std::nullopt;
  return ClientMessage(std::move(message));
}

using DecodeFunction = std::optional<ClientMessage> (*)(absl::string_view);

template <std::size_t... kIndices>
constexpr auto MakeDecoders(std::index_sequence<kIndices...> /*indices*/) {
  return std::array<DecodeFunction, sizeof...(kIndices)>{DecodeAs<kIndices>...};
}
constexpr auto kDecoders = MakeDecoders(
    std::make_index_sequence<std::variant_size_v<ClientMessage>>());

}  // namespace

std::string EncodeFrame(const ClientMessage& message) {
  std::string frame(4, '\0');
  Encoder encode(&frame);
  encode(static_cast<std::uint8_t>(message.index()));
  std::visit([&](const auto& value) { Fields(encode, value); }, message);
  const auto length = static_cast<std::uint32_t>(frame.size() - 4);
  for (int i = 0; i < 4; ++i) frame[i] = static_cast<char>(length >> (8 * i));
  return frame;
}

std::optional<ClientMessage> DecodeFrame(absl::string_view frame) {
  if (frame.empty()) return std::nullopt;
  const auto kind = static_cast<std::uint8_t>(frame.front());
  if (kind >= kDecoders.size()) return std::nullopt;
  return kDecoders[kind](frame.substr(1));
}

}  // namespace hoplite
