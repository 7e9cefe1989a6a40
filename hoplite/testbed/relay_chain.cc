#include "hoplite/testbed/relay_chain.h"

#include <cstdint>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "hoplite/base/status_macros.h"

namespace hoplite::testbed {
namespace {

// 2 GiB at 10 Mbit/s take half an hour.
constexpr absl::Duration kPatience = absl::Minutes(60);

absl::StatusOr<std::int64_t> ParseTime(absl::string_view word) {
  std::int64_t time = 0;
  if (absl::SimpleAtoi(word, &time)) return time;
  return absl::InternalError(absl::StrCat("\"", word, "\" is no time"));
}

}  // namespace

absl::StatusOr<std::unique_ptr<RelayChain>> RelayChain::Create(
    Testbed& testbed, absl::string_view program) {
  if (testbed.host_count() < 2) {
    return absl::InvalidArgumentError("a chain needs at least two hosts");
  }
  std::unique_ptr<RelayChain> chain(new RelayChain(testbed));
  for (int host = 0; host < testbed.host_count(); ++host) {
    HOPLITE_ASSIGN_OR_RETURN(
        auto member,
        testbed.Start(host, {.arguments = {std::string(program),
                                           absl::StrCat("--member=", host)}}));
    chain->members_.push_back(std::move(member));
  }
  HOPLITE_RETURN_IF_ERROR(chain->Connect());
  return chain;
}

absl::Status RelayChain::Connect() {
  for (std::size_t member = 1; member < members_.size(); ++member) {
    HOPLITE_RETURN_IF_ERROR(Tell(member, "listen"));
    HOPLITE_ASSIGN_OR_RETURN(const std::string port, Expect(member, "port "));
    HOPLITE_RETURN_IF_ERROR(Tell(member, "accept"));
    HOPLITE_RETURN_IF_ERROR(Tell(
        member - 1,
        absl::StrCat("connect ", testbed_.address(static_cast<int>(member)),
                     " ", port)));
    HOPLITE_RETURN_IF_ERROR(Expect(member - 1, "connected").status());
    HOPLITE_RETURN_IF_ERROR(Expect(member, "accepted").status());
  }
  return absl::OkStatus();
}

absl::StatusOr<PayloadRate> RelayChain::MeasureRate() {
  HOPLITE_RETURN_IF_ERROR(Tell(1, "serve"));
  HOPLITE_ASSIGN_OR_RETURN(const std::string port, Expect(1, "port "));
  HOPLITE_RETURN_IF_ERROR(
      Tell(0, absl::StrCat("measure ", testbed_.address(1), " ", port)));
  HOPLITE_ASSIGN_OR_RETURN(const std::string answer, Expect(0, "rate "));
  HOPLITE_RETURN_IF_ERROR(Expect(1, "served").status());
  const std::pair<std::string, std::string> words =
      absl::StrSplit(answer, absl::MaxSplits(' ', 1));
  PayloadRate rate = {.congestion_control = words.second};
  if (!absl::SimpleAtod(words.first, &rate.bits_per_second)) {
    return absl::InternalError(absl::StrCat("\"", answer, "\" is no rate"));
  }
  return rate;
}

absl::StatusOr<absl::Duration> RelayChain::Relay(std::size_t bytes, bool add) {
  const std::string command = absl::StrCat(add ? "add " : "relay ", bytes);
  for (std::size_t member = 1; member < members_.size(); ++member) {
    HOPLITE_RETURN_IF_ERROR(Tell(member, command));
  }
  for (std::size_t member = 1; member < members_.size(); ++member) {
    HOPLITE_RETURN_IF_ERROR(Expect(member, "ready").status());
  }
  HOPLITE_RETURN_IF_ERROR(Tell(0, command));
  std::vector<std::int64_t> times;
  for (std::size_t member = 0; member < members_.size(); ++member) {
    HOPLITE_ASSIGN_OR_RETURN(const std::string word, Expect(member, "time "));
    HOPLITE_ASSIGN_OR_RETURN(const std::int64_t time, ParseTime(word));
    times.push_back(time);
  }
  return absl::Nanoseconds(times.back() - times.front());
}

absl::Status RelayChain::Tell(std::size_t member, absl::string_view line) {
  return members_[member]->WriteLine(line);
}

absl::StatusOr<std::string> RelayChain::Expect(std::size_t member,
                                               absl::string_view word) {
  HOPLITE_ASSIGN_OR_RETURN(const std::string line,
                           members_[member]->ReadLine(absl::Now() + kPatience));
  absl::string_view rest = line;
  if (absl::ConsumePrefix(&rest, word)) return std::string(rest);
  return absl::InternalError(absl::StrCat("member ", member, " said \"", line,
                                          "\" instead of \"", word, "\""));
}

}  // namespace hoplite::testbed
