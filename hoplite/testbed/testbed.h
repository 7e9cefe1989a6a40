// A cluster of emulated hosts on this machine, for tests and measurements.
//
// Every host has a network of its own with an address of either family, and
// one link to a bridge that joins them all. Names ("host3") resolve on every
// host. Both directions of each link have the same rate:
//
//     host0 === tbf ==> |        | ==> tbf === host1
//                       | bridge |
//     host2 === tbf ==> |        | ==> tbf === host3
//
// An ordinary user may make one, also in a Bazel test. All of it vanishes with
// the Testbed and when the process that made it ends in any way: the hosts
// live in namespaces whose first process waits for that. The hosts share this
// machine's files, but have a /run, /dev/shm and /proc of their own; a
// program on a host runs as root of the testbed, which is this user outside.
//
//   HOPLITE_ASSIGN_OR_RETURN(auto testbed, Testbed::Create({.hosts = 2}));
//   HOPLITE_ASSIGN_OR_RETURN(
//       auto process, testbed->Start(1, {.arguments = {"ping", "host0"}}));
//
// Not responsible for: delay and loss, which are not emulated.
// Thread safety: thread-safe.
// Units: bytes, bits per second.

#ifndef HOPLITE_TESTBED_TESTBED_H_
#define HOPLITE_TESTBED_TESTBED_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "hoplite/base/mutex.h"
#include "hoplite/testbed/child_process.h"
#include "hoplite/testbed/descriptor.h"
#include "hoplite/testbed/host_process.h"
#include "hoplite/testbed/network_script.h"

namespace hoplite::testbed {

struct TestbedOptions {
  int hosts = 8;
  // None: as fast as this machine can.
  std::optional<std::uint64_t> link_bits_per_second = std::nullopt;
  // What an idle link lets through at once before its rate holds. A message
  // that is not much larger says nothing about the link; a small bucket costs
  // more processor. At MTU 9000 take 64 KiB for large objects and 10 KiB, the
  // room of one packet, for small ones: either carries a stream at the rate.
  std::uint64_t bucket_bytes = 65536;
  // What may wait at each end of a link before packets are dropped. With much
  // less, many senders to one host stall for as long as TCP's timeouts last.
  std::uint64_t queue_bytes = 4 << 20;
  int mtu = 9000;
  bool ipv6 = true;
  // A name as in tcp_congestion_control(7); empty: the kernel's default.
  std::string congestion_control = {};
};

class Testbed {
 public:
  // Errors: kInvalidArgument for options that make no sense or a congestion
  // control that the kernel does not have, kPermissionDenied where the system
  // forbids user namespaces, kFailedPrecondition without iproute2,
  // kInternal for all else.
  static absl::StatusOr<std::unique_ptr<Testbed>> Create(
      const TestbedOptions& options);

  // Kills all that runs on the hosts. Their HostProcess objects may live on.
  ~Testbed();
  Testbed(const Testbed&) = delete;
  Testbed& operator=(const Testbed&) = delete;

  int host_count() const { return options_.hosts; }
  // Hosts are counted from 0. REQUIRES: host < host_count().
  std::string name(int host) const;
  std::string address(int host) const;
  // REQUIRES: the testbed has IPv6.
  std::string address6(int host) const;

  // Starts a program on a host, where its name, addresses and network are
  // those of the host.
  //
  // REQUIRES: host < host_count().
  // Errors: kNotFound without the program or its folder, kPermissionDenied
  // where it may not be executed, kInvalidArgument without arguments,
  // kResourceExhausted, kInternal.
  absl::StatusOr<std::unique_ptr<HostProcess>> Start(
      int host, const HostCommand& command);

  // Gives all links another bucket. Connections that exist may keep their old
  // segments, which a smaller bucket cuts at a cost of processor: start the
  // programs anew.
  //
  // Errors: kInvalidArgument for a bucket that does not hold a packet,
  // kFailedPrecondition for links without a rate, kInternal.
  absl::Status SetBucket(std::uint64_t bucket_bytes);
  std::uint64_t bucket_bytes() const;

  // Nothing passes the host's link any more, in silence: connections stay and
  // wait. RestoreLink ends it. Both are harmless when repeated.
  //
  // REQUIRES: host < host_count().
  // Errors: kInternal.
  absl::Status CutLink(int host);
  absl::Status RestoreLink(int host);

  // The name of what TCP on the hosts uses.
  const std::string& congestion_control() const { return congestion_control_; }

 private:
  Testbed(const TestbedOptions& options, Descriptor life,
          std::shared_ptr<ChildProcess> first);

  // Runs a script in the namespaces outside of all hosts; its output.
  absl::StatusOr<std::string> RunScript(absl::string_view script);
  void Remember(std::shared_ptr<ChildProcess> process);
  NetworkPlan PlanFor(std::uint64_t bucket_bytes) const;

  const TestbedOptions options_;
  // The first process of the namespaces ends when this pipe is closed, and
  // the kernel ends all others with it.
  Descriptor life_;
  const std::shared_ptr<ChildProcess> first_;
  // Constant once Create has returned.
  std::string congestion_control_;

  mutable Mutex mutex_;
  std::uint64_t bucket_bytes_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::weak_ptr<ChildProcess>> processes_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace hoplite::testbed

#endif  // HOPLITE_TESTBED_TESTBED_H_
