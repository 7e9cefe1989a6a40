#include "hoplite/testbed/relay_member.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <istream>
#include <ostream>
#include <span>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "hoplite/base/status_macros.h"
#include "hoplite/testbed/payload_rate.h"
#include "hoplite/testbed/plain_socket.h"

namespace hoplite::testbed {
namespace {

// More than the kernel hands over at once.
constexpr std::size_t kPieceBytes = 256 << 10;
constexpr absl::Duration kPatience = absl::Minutes(1);

// Small integers: their sums over all members are exact in any order.
float OwnFloat(std::size_t index) {
  return static_cast<float>(index % 1021 + 1);
}

std::byte OwnByte(std::size_t index) {
  return static_cast<std::byte>(index % 251);
}

std::int64_t Nanoseconds() {
  return std::chrono::nanoseconds(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

absl::StatusOr<int> ParseNumber(absl::string_view word) {
  int number = 0;
  if (absl::SimpleAtoi(word, &number)) return number;
  return absl::InvalidArgumentError(absl::StrCat(word, " is no number"));
}

void Tell(std::ostream& output, absl::string_view line) {
  output << line << std::endl;
}

}  // namespace

absl::Status RelayMember::Run(std::istream& input, std::ostream& output) {
  std::string line;
  while (std::getline(input, line)) {
    HOPLITE_ASSIGN_OR_RETURN(
        const std::string answer,
        Obey(absl::StrSplit(line, ' ', absl::SkipEmpty()), output));
    Tell(output, answer);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> RelayMember::Obey(
    const std::vector<std::string>& words, std::ostream& output) {
  const std::string command = words.empty() ? "" : words[0];
  if (command == "listen" && words.size() == 1) {
    HOPLITE_ASSIGN_OR_RETURN(listener_, ListenOnFreePort());
    HOPLITE_ASSIGN_OR_RETURN(const int port, PortOf(listener_));
    return absl::StrCat("port ", port);
  }
  if (command == "connect" && words.size() == 3) {
    HOPLITE_ASSIGN_OR_RETURN(const int port, ParseNumber(words[2]));
    HOPLITE_ASSIGN_OR_RETURN(after_, ConnectTo(words[1], port));
    return "connected";
  }
  if (command == "accept" && words.size() == 1) {
    HOPLITE_ASSIGN_OR_RETURN(
        before_, AcceptConnection(listener_, absl::Now() + kPatience));
    return "accepted";
  }
  if ((command == "relay" || command == "add") && words.size() == 2) {
    HOPLITE_ASSIGN_OR_RETURN(const int bytes, ParseNumber(words[1]));
    return Relay(static_cast<std::size_t>(bytes), command == "add", output);
  }
  if (command == "serve" && words.size() == 1) {
    HOPLITE_ASSIGN_OR_RETURN(PayloadRateServer server,
                             PayloadRateServer::Listen());
    Tell(output, absl::StrCat("port ", server.port()));
    HOPLITE_RETURN_IF_ERROR(server.ServeOne(absl::Now() + kPatience));
    return "served";
  }
  if (command == "measure" && words.size() == 3) {
    HOPLITE_ASSIGN_OR_RETURN(const int port, ParseNumber(words[2]));
    HOPLITE_ASSIGN_OR_RETURN(const PayloadRate rate,
                             MeasurePayloadRate(words[1], port, {}));
    return absl::StrFormat("rate %.0f %s", rate.bits_per_second,
                           rate.congestion_control);
  }
  return absl::InvalidArgumentError(
      absl::StrCat("a relay's member knows no command \"", command, "\""));
}

absl::StatusOr<std::string> RelayMember::Relay(std::size_t bytes, bool add,
                                               std::ostream& output) {
  // Memory is touched before the clock runs.
  own_floats_.resize(add ? bytes / sizeof(float) : 0);
  for (std::size_t i = 0; i < own_floats_.size(); ++i) {
    own_floats_[i] = OwnFloat(i);
  }
  own_bytes_.resize(add ? 0 : bytes);
  for (std::size_t i = 0; i < own_bytes_.size(); ++i) {
    own_bytes_[i] = OwnByte(i);
  }
  received_.assign(is_last() ? bytes : kPieceBytes, std::byte{0});
  std::int64_t time = 0;
  if (is_first()) {
    time = Nanoseconds();
    HOPLITE_RETURN_IF_ERROR(SendOwn(bytes, add));
  } else {
    Tell(output, "ready");
    HOPLITE_RETURN_IF_ERROR(add ? AddAndPassOn(bytes) : PassOn(bytes));
    time = Nanoseconds();
    if (is_last()) HOPLITE_RETURN_IF_ERROR(CheckReceived(bytes, add));
  }
  return absl::StrCat("time ", time);
}

absl::Status RelayMember::SendOwn(std::size_t bytes, bool add) {
  const std::span<const std::byte> own =
      add ? std::as_bytes(std::span(own_floats_)) : std::span(own_bytes_);
  return SendAll(after_, own.first(bytes));
}

absl::Status RelayMember::PassOn(std::size_t bytes) {
  std::size_t done = 0;
  while (done < bytes) {
    const std::span<std::byte> piece =
        std::span(received_)
            .subspan(is_last() ? done : 0)
            .first(std::min(kPieceBytes, bytes - done));
    HOPLITE_ASSIGN_OR_RETURN(const std::size_t size,
                             ReceiveSome(before_, piece));
    if (size == 0) return absl::UnavailableError("the member before has gone");
    if (!is_last()) {
      HOPLITE_RETURN_IF_ERROR(SendAll(after_, piece.first(size)));
    }
    done += size;
  }
  return absl::OkStatus();
}

absl::Status RelayMember::AddAndPassOn(std::size_t bytes) {
  std::vector<std::byte> piece(kPieceBytes);
  // Bytes of floats that are added, and of one that has not come whole.
  std::size_t done = 0;
  std::size_t begun = 0;
  while (done < bytes) {
    const std::size_t room = std::min(kPieceBytes, bytes - done) - begun;
    HOPLITE_ASSIGN_OR_RETURN(
        const std::size_t size,
        ReceiveSome(before_, std::span(piece).subspan(begun, room)));
    if (size == 0) return absl::UnavailableError("the member before has gone");
    const std::size_t whole = (begun + size) / sizeof(float) * sizeof(float);
    auto* floats = reinterpret_cast<float*>(piece.data());
    const float* own = own_floats_.data() + done / sizeof(float);
    for (std::size_t i = 0; i < whole / sizeof(float); ++i) {
      floats[i] += own[i];
    }
    if (is_last()) {
      std::memcpy(received_.data() + done, piece.data(), whole);
    } else {
      HOPLITE_RETURN_IF_ERROR(SendAll(after_, std::span(piece).first(whole)));
    }
    begun = begun + size - whole;
    std::memmove(piece.data(), piece.data() + whole, begun);
    done += whole;
  }
  return absl::OkStatus();
}

absl::Status RelayMember::CheckReceived(std::size_t bytes, bool add) const {
  bool same = true;
  if (add) {
    const auto* floats = reinterpret_cast<const float*>(received_.data());
    const auto members = static_cast<float>(position_ + 1);
    for (std::size_t i = 0; i < bytes / sizeof(float); ++i) {
      same = same && floats[i] == members * own_floats_[i];
    }
  } else {
    same = std::ranges::equal(received_, own_bytes_);
  }
  if (same) return absl::OkStatus();
  return absl::DataLossError("the relay delivered other bytes than were sent");
}

}  // namespace hoplite::testbed
