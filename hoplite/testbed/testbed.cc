#include "hoplite/testbed/testbed.h"

#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "hoplite/base/check.h"
#include "hoplite/base/status_macros.h"
#include "hoplite/testbed/launch.h"

namespace hoplite::testbed {
namespace {

// A bridge has no more ports.
constexpr int kLargestHostCount = 1000;
// IPv6 needs this much.
constexpr int kSmallestMtu = 1280;
constexpr int kLargestMtu = 65535;
constexpr absl::Duration kScriptTimeout = absl::Minutes(2);

// The kernel reaps the processes that outlive their parents on a host.
constexpr absl::string_view kFirstProcess = "trap '' CHLD; exec cat";

absl::Status CheckBucket(std::uint64_t bucket_bytes, int mtu) {
  if (bucket_bytes >= SmallestBucket(mtu)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("a bucket of ", bucket_bytes,
                   " bytes does not hold a packet of an MTU of ", mtu,
                   ": take at least ", SmallestBucket(mtu)));
}

absl::Status CheckOptions(const TestbedOptions& options) {
  if (options.hosts < 1 || options.hosts > kLargestHostCount) {
    return absl::InvalidArgumentError(
        absl::StrCat("a testbed has 1 to ", kLargestHostCount, " hosts, not ",
                     options.hosts));
  }
  if (options.mtu < kSmallestMtu || options.mtu > kLargestMtu) {
    return absl::InvalidArgumentError(absl::StrCat("an MTU is ", kSmallestMtu,
                                                   " to ", kLargestMtu,
                                                   ", not ", options.mtu));
  }
  for (const char character : options.congestion_control) {
    if (absl::ascii_isalnum(static_cast<unsigned char>(character)) ||
        character == '_' || character == '-') {
      continue;
    }
    return absl::InvalidArgumentError(
        absl::StrCat("\"", options.congestion_control,
                     "\" is no name of a TCP congestion control"));
  }
  if (!options.link_bits_per_second.has_value()) return absl::OkStatus();
  if (*options.link_bits_per_second == 0) {
    return absl::InvalidArgumentError("a link needs a rate above 0");
  }
  if (options.queue_bytes < SmallestBucket(options.mtu)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a queue of ", options.queue_bytes,
        " bytes does not hold a packet of an MTU of ", options.mtu));
  }
  return CheckBucket(options.bucket_bytes, options.mtu);
}

// All hosts may have said the same: the first is enough.
absl::Status ScriptFailure(absl::string_view errors) {
  errors = errors.substr(0, errors.find('\n'));
  if (absl::StrContains(errors, "not found")) {
    return absl::FailedPreconditionError(
        absl::StrCat("the testbed needs the programs ip and tc (package "
                     "iproute2) and nsenter (package util-linux): ",
                     errors));
  }
  if (absl::StrContains(errors, "congestion algorithm")) {
    return absl::InvalidArgumentError(
        absl::StrCat("the kernel does not have this congestion control; see "
                     "/proc/sys/net/ipv4/tcp_available_congestion_control: ",
                     errors));
  }
  return absl::InternalError(
      absl::StrCat("the testbed's network could not be made: ", errors));
}

}  // namespace

absl::StatusOr<std::unique_ptr<Testbed>> Testbed::Create(
    const TestbedOptions& options) {
  HOPLITE_RETURN_IF_ERROR(CheckOptions(options));
  HOPLITE_ASSIGN_OR_RETURN(PipeEnds life, MakePipe());
  HOPLITE_ASSIGN_OR_RETURN(
      const pid_t pid,
      Launch({.arguments = {"/bin/sh", "-c", std::string(kFirstProcess)},
              .working_directory = "/",
              .standard_input = life.read.number()}));
  std::unique_ptr<Testbed> testbed(new Testbed(
      options, std::move(life.write), std::make_shared<ChildProcess>(pid)));
  HOPLITE_ASSIGN_OR_RETURN(
      const std::string output,
      testbed->RunScript(SetUpScript(testbed->PlanFor(options.bucket_bytes))));
  testbed->congestion_control_ =
      options.congestion_control.empty()
          ? std::string(absl::StripAsciiWhitespace(output))
          : options.congestion_control;
  return testbed;
}

Testbed::Testbed(const TestbedOptions& options, Descriptor life,
                 std::shared_ptr<ChildProcess> first)
    : options_(options),
      life_(std::move(life)),
      first_(std::move(first)),
      bucket_bytes_(options.bucket_bytes) {}

Testbed::~Testbed() {
  std::vector<std::weak_ptr<ChildProcess>> processes;
  {
    MutexLock lock(mutex_);
    processes.swap(processes_);
  }
  // The kernel keeps a namespace's first process until all others are
  // collected, and those that Start started are ours to collect.
  for (const std::weak_ptr<ChildProcess>& process : processes) {
    if (const auto alive = process.lock()) alive->Kill();
  }
  first_->Kill();
}

std::string Testbed::name(int host) const {
  HOPLITE_CHECK(host >= 0 && host < host_count());
  return HostName(host);
}

std::string Testbed::address(int host) const {
  HOPLITE_CHECK(host >= 0 && host < host_count());
  return HostAddress(host);
}

std::string Testbed::address6(int host) const {
  HOPLITE_CHECK(host >= 0 && host < host_count());
  HOPLITE_CHECK(options_.ipv6);
  return HostAddress6(host);
}

absl::StatusOr<std::unique_ptr<HostProcess>> Testbed::Start(
    int host, const HostCommand& command) {
  HOPLITE_CHECK(host >= 0 && host < host_count());
  HOPLITE_ASSIGN_OR_RETURN(PipeEnds input, MakePipe());
  HOPLITE_ASSIGN_OR_RETURN(PipeEnds output, MakePipe());
  Descriptor error;
  if (command.capture_standard_error) {
    HOPLITE_ASSIGN_OR_RETURN(error, MakeMemoryFile(""));
  }
  HOPLITE_ASSIGN_OR_RETURN(
      const pid_t pid,
      Launch({.arguments = command.arguments,
              .environment = command.environment,
              .working_directory = command.working_directory,
              .standard_input = input.read.number(),
              .standard_output = output.write.number(),
              .standard_error = error.is_open() ? error.number() : 2,
              .join = first_->descriptor(),
              .network = NetworkFile(host),
              .host_name = HostName(host)}));
  auto process = std::make_shared<ChildProcess>(pid);
  Remember(process);
  return std::make_unique<HostProcess>(
      std::move(process), std::move(input.write), std::move(output.read),
      std::move(error));
}

absl::Status Testbed::SetBucket(std::uint64_t bucket_bytes) {
  if (!options_.link_bits_per_second.has_value()) {
    return absl::FailedPreconditionError(
        "links without a rate have no bucket: set link_bits_per_second");
  }
  HOPLITE_RETURN_IF_ERROR(CheckBucket(bucket_bytes, options_.mtu));
  HOPLITE_RETURN_IF_ERROR(
      RunScript(ReshapeScript(PlanFor(bucket_bytes))).status());
  MutexLock lock(mutex_);
  bucket_bytes_ = bucket_bytes;
  return absl::OkStatus();
}

std::uint64_t Testbed::bucket_bytes() const {
  MutexLock lock(mutex_);
  return bucket_bytes_;
}

absl::Status Testbed::CutLink(int host) {
  HOPLITE_CHECK(host >= 0 && host < host_count());
  return RunScript(CutLinkScript(host)).status();
}

absl::Status Testbed::RestoreLink(int host) {
  HOPLITE_CHECK(host >= 0 && host < host_count());
  return RunScript(RestoreLinkScript(host)).status();
}

absl::StatusOr<std::string> Testbed::RunScript(absl::string_view script) {
  HOPLITE_ASSIGN_OR_RETURN(const Descriptor input, MakeMemoryFile(script));
  HOPLITE_ASSIGN_OR_RETURN(const Descriptor output, MakeMemoryFile(""));
  HOPLITE_ASSIGN_OR_RETURN(const Descriptor errors, MakeMemoryFile(""));
  HOPLITE_ASSIGN_OR_RETURN(const pid_t pid,
                           Launch({.arguments = {"/bin/sh"},
                                   .working_directory = "/",
                                   .standard_input = input.number(),
                                   .standard_output = output.number(),
                                   .standard_error = errors.number(),
                                   .join = first_->descriptor()}));
  ChildProcess process(pid);
  HOPLITE_ASSIGN_OR_RETURN(const int status,
                           process.Wait(absl::Now() + kScriptTimeout));
  if (status != 0) return ScriptFailure(MemoryFileText(errors.number()));
  return MemoryFileText(output.number());
}

void Testbed::Remember(std::shared_ptr<ChildProcess> process) {
  MutexLock lock(mutex_);
  std::erase_if(processes_, [](const auto& other) { return other.expired(); });
  processes_.push_back(std::move(process));
}

NetworkPlan Testbed::PlanFor(std::uint64_t bucket_bytes) const {
  return {.hosts = options_.hosts,
          .link_bits_per_second = options_.link_bits_per_second,
          .bucket_bytes = bucket_bytes,
          .queue_bytes = options_.queue_bytes,
          .mtu = options_.mtu,
          .ipv6 = options_.ipv6,
          .congestion_control = options_.congestion_control};
}

}  // namespace hoplite::testbed
