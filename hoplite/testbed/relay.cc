// Measures the floor of a chain: bare relays on emulated hosts, each of which
// passes on what it receives, or adds its own floats to it.
//
//   relay --nodes=16 --bytes=32M --link=250mbit
//   relay --nodes=16 --bytes=32K,1M --link=250mbit --bucket=16K --add
//
// S/B is what a single link takes for the bytes at the payload rate that one
// plain TCP stream had in the same run.

#include <algorithm>
#include <cstdio>
#include <cxxopts.hpp>
#include <exception>
#include <iostream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "hoplite/base/status_macros.h"
#include "hoplite/testbed/idle_share.h"
#include "hoplite/testbed/relay_chain.h"
#include "hoplite/testbed/relay_member.h"
#include "hoplite/testbed/testbed.h"

namespace hoplite::testbed {
namespace {

constexpr std::uint64_t kLargestMessage = (1ULL << 31) - 1;
// A message below so many buckets says little about the link.
constexpr std::uint64_t kFaithfulBuckets = 8;

struct Options {
  TestbedOptions testbed;
  std::vector<std::uint64_t> sizes;
  int runs = 5;
  bool add = false;
};

struct Unit {
  absl::string_view suffix;
  std::uint64_t factor;
};

// "32M", "250mbit"; the first unit that fits.
absl::StatusOr<std::uint64_t> ParseWithUnit(absl::string_view text,
                                            std::initializer_list<Unit> units) {
  absl::string_view digits = text;
  std::uint64_t factor = 1;
  for (const Unit& unit : units) {
    if (absl::ConsumeSuffix(&digits, unit.suffix)) {
      factor = unit.factor;
      break;
    }
  }
  std::uint64_t number = 0;
  if (absl::SimpleAtoi(digits, &number) && number <= kLargestMessage) {
    return number * factor;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("\"", text,
                   "\" is no amount: write sizes as 4096, 32K, 1M or 1G and "
                   "rates as 250mbit or 1gbit"));
}

absl::StatusOr<std::uint64_t> ParseBytes(absl::string_view text) {
  return ParseWithUnit(text, {{"K", 1 << 10}, {"M", 1 << 20}, {"G", 1 << 30}});
}

absl::StatusOr<std::uint64_t> ParseRate(absl::string_view text) {
  return ParseWithUnit(
      text, {{"kbit", 1000}, {"mbit", 1'000'000}, {"gbit", 1'000'000'000}});
}

absl::StatusOr<Options> ReadOptions(const cxxopts::ParseResult& arguments) {
  Options options;
  options.testbed.hosts = arguments["nodes"].as<int>();
  options.testbed.mtu = arguments["mtu"].as<int>();
  options.testbed.congestion_control =
      arguments["congestion-control"].as<std::string>();
  options.runs = arguments["runs"].as<int>();
  options.add = arguments["add"].as<bool>();
  if (options.runs < 1) {
    return absl::InvalidArgumentError("--runs must be at least 1");
  }
  if (arguments.count("link") > 0) {
    HOPLITE_ASSIGN_OR_RETURN(options.testbed.link_bits_per_second,
                             ParseRate(arguments["link"].as<std::string>()));
  }
  HOPLITE_ASSIGN_OR_RETURN(options.testbed.bucket_bytes,
                           ParseBytes(arguments["bucket"].as<std::string>()));
  HOPLITE_ASSIGN_OR_RETURN(options.testbed.queue_bytes,
                           ParseBytes(arguments["queue"].as<std::string>()));
  const std::string sizes = arguments["bytes"].as<std::string>();
  for (absl::string_view word : absl::StrSplit(sizes, ',')) {
    HOPLITE_ASSIGN_OR_RETURN(const std::uint64_t size, ParseBytes(word));
    if (size == 0 || size > kLargestMessage || size % sizeof(float) != 0) {
      return absl::InvalidArgumentError(absl::StrCat(
          "--bytes=", word, ": a multiple of 4 below 2 GiB is needed"));
    }
    options.sizes.push_back(size);
  }
  return options;
}

absl::Status PrintRow(RelayChain& chain, const Options& options,
                      std::uint64_t size, double bits_per_second) {
  // Once for nothing: the connections find the rate.
  HOPLITE_RETURN_IF_ERROR(chain.Relay(size, options.add).status());
  HOPLITE_ASSIGN_OR_RETURN(IdleShareSampler idle, IdleShareSampler::Create());
  std::vector<double> milliseconds;
  for (int run = 0; run < options.runs; ++run) {
    HOPLITE_ASSIGN_OR_RETURN(const absl::Duration time,
                             chain.Relay(size, options.add));
    milliseconds.push_back(absl::ToDoubleMilliseconds(time));
  }
  HOPLITE_ASSIGN_OR_RETURN(const double idle_share, idle.Take());
  std::ranges::sort(milliseconds);
  const double median = milliseconds[milliseconds.size() / 2];
  const double floor = 8e3 * static_cast<double>(size) / bits_per_second;
  const bool faithful = !options.testbed.link_bits_per_second.has_value() ||
                        size >= kFaithfulBuckets * options.testbed.bucket_bytes;
  absl::PrintF("%10d %10.3f %10.3f %10.3f %10.3f %7.2f %6.0f%%%s\n", size,
               median, milliseconds.front(), milliseconds.back(), floor,
               median / floor, 100 * idle_share,
               faithful ? "" : "  below 8 buckets");
  std::fflush(stdout);
  return absl::OkStatus();
}

absl::Status Measure(const Options& options) {
  HOPLITE_ASSIGN_OR_RETURN(const auto testbed,
                           Testbed::Create(options.testbed));
  HOPLITE_ASSIGN_OR_RETURN(const auto chain,
                           RelayChain::Create(*testbed, "/proc/self/exe"));
  HOPLITE_ASSIGN_OR_RETURN(const PayloadRate rate, chain->MeasureRate());
  absl::PrintF(
      "%d hosts, bucket %d, queue %d, MTU %d, %s: one stream carries %.1f "
      "Mbit/s\n",
      options.testbed.hosts, options.testbed.bucket_bytes,
      options.testbed.queue_bytes, options.testbed.mtu, rate.congestion_control,
      rate.bits_per_second / 1e6);
  absl::PrintF("%10s %10s %10s %10s %10s %7s %7s\n",
               options.add ? "add bytes" : "bytes", "median ms", "min ms",
               "max ms", "S/B ms", "ratio", "idle");
  std::fflush(stdout);
  for (const std::uint64_t size : options.sizes) {
    HOPLITE_RETURN_IF_ERROR(
        PrintRow(*chain, options, size, rate.bits_per_second));
  }
  return absl::OkStatus();
}

cxxopts::Options DescribeOptions() {
  cxxopts::Options description(
      "relay",
      "Measures the floor of a chain of bare relays on emulated "
      "hosts.");
  description.add_options()("nodes", "hosts in the chain",
                            cxxopts::value<int>()->default_value("16"))(
      "bytes", "sizes, such as 32K,1M,32M",
      cxxopts::value<std::string>()->default_value("32M"))(
      "link", "rate of each link, such as 250mbit; none: unshaped",
      cxxopts::value<std::string>())(
      "bucket", "bytes that an idle link lets through at once",
      cxxopts::value<std::string>()->default_value("64K"))(
      "queue", "bytes that may wait at each end of a link",
      cxxopts::value<std::string>()->default_value("4M"))(
      "mtu", "of every link", cxxopts::value<int>()->default_value("9000"))(
      "congestion-control", "such as cubic; none: the kernel's default",
      cxxopts::value<std::string>()->default_value(""))(
      "add", "each member adds its own floats")(
      "runs", "runs for each size", cxxopts::value<int>()->default_value("5"))(
      "help", "prints this")(
      "member", "for the program itself: be the member of this position",
      cxxopts::value<int>());
  return description;
}

absl::Status Main(int argument_count, char** arguments) {
  cxxopts::Options description = DescribeOptions();
  const cxxopts::ParseResult parsed =
      description.parse(argument_count, arguments);
  if (parsed.count("help") > 0) {
    std::cout << description.help();
    return absl::OkStatus();
  }
  if (parsed.count("member") > 0) {
    RelayMember member(parsed["member"].as<int>());
    return member.Run(std::cin, std::cout);
  }
  HOPLITE_ASSIGN_OR_RETURN(const Options options, ReadOptions(parsed));
  return Measure(options);
}

}  // namespace
}  // namespace hoplite::testbed

int main(int argument_count, char** arguments) {
  try {
    const absl::Status status =
        hoplite::testbed::Main(argument_count, arguments);
    if (status.ok()) return 0;
    std::cerr << "relay: " << status.message() << "\n";
    return 1;
  } catch (const std::exception& error) {
    std::cerr << "relay: " << error.what() << "; see relay --help\n";
    return 2;
  }
}
