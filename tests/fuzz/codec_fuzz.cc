// Any bytes as a control message, and as what joins and returns are made of:
// an error or a message, which encodes to what decodes to the same again.

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "hoplite/base/check.h"
#include "hoplite/core/membership/cluster_view.h"
#include "hoplite/core/message.h"
#include "hoplite/wire/codec.h"
#include "hoplite/wire/hoplite.pb.h"
#include "tests/fuzz/fuzz_input.h"

namespace hoplite::fuzz {
namespace {

void TryMessage(std::span<const std::uint8_t> bytes) {
  wire::Envelope envelope;
  if (!envelope.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return;
  }
  const absl::StatusOr<Message> message = wire::Decode(std::move(envelope));
  if (!message.ok()) return;
  const absl::StatusOr<wire::Envelope> encoded = wire::Encode(*message);
  HOPLITE_CHECK(encoded.ok());
  wire::Envelope passed_on;
  HOPLITE_CHECK(passed_on.ParseFromString(encoded->SerializeAsString()));
  const absl::StatusOr<Message> again = wire::Decode(std::move(passed_on));
  HOPLITE_CHECK(again.ok());
  HOPLITE_CHECK(*again == *message);
  HOPLITE_CHECK(!DebugString(*message).empty());
}

void TryView(std::span<const std::uint8_t> bytes) {
  wire::ClusterView view;
  if (!view.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return;
  }
  const absl::StatusOr<ClusterView> decoded = wire::DecodeView(view);
  if (!decoded.ok()) return;
  const absl::StatusOr<wire::ClusterView> encoded = wire::EncodeView(*decoded);
  HOPLITE_CHECK(encoded.ok());
  HOPLITE_CHECK(wire::DecodeView(*encoded).value() == *decoded);
}

}  // namespace
}  // namespace hoplite::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  hoplite::fuzz::FuzzInput input(data, size);
  const bool is_view = input.Below(8) == 7;
  const auto bytes = input.Bytes(size);
  if (is_view) {
    hoplite::fuzz::TryView(bytes);
  } else {
    hoplite::fuzz::TryMessage(bytes);
  }
  return 0;
}
