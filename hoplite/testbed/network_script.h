// The shell scripts that build and reshape a testbed's network, as text.
//
// Pure functions: nothing runs here. The scripts run inside the testbed's
// namespaces, where this user is root.
//
// Thread safety: thread-safe.
// Units: bytes, bits per second.

#ifndef HOPLITE_TESTBED_NETWORK_SCRIPT_H_
#define HOPLITE_TESTBED_NETWORK_SCRIPT_H_

#include <cstdint>
#include <optional>
#include <string>

namespace hoplite::testbed {

struct NetworkPlan {
  int hosts = 0;
  std::optional<std::uint64_t> link_bits_per_second = std::nullopt;
  std::uint64_t bucket_bytes = 0;
  std::uint64_t queue_bytes = 0;
  int mtu = 0;
  bool ipv6 = true;
  // Empty: the kernel's default.
  std::string congestion_control = {};
};

// "host3" and its addresses.
std::string HostName(int host);
std::string HostAddress(int host);
std::string HostAddress6(int host);

// The file that stands for the host's network inside the testbed.
std::string NetworkFile(int host);

// The largest segment that the kernel may hand to a link in one piece: a
// whole number of packets that the bucket can hold. A larger one would be cut
// in software, at a great cost of processor.
//
// REQUIRES: the bucket holds a packet; see SmallestBucket.
std::uint64_t LargestSegment(std::uint64_t bucket_bytes, int mtu);
std::uint64_t SmallestBucket(int mtu);

// Makes the hosts' networks, their links to one bridge and their names.
// Prints the kernel's default congestion control.
std::string SetUpScript(const NetworkPlan& plan);

// Gives all links of a network with a rate the plan's bucket and queue.
std::string ReshapeScript(const NetworkPlan& plan);

// The bridge forwards nothing from and to the host, or does so again. Its
// link keeps its carrier, so that nobody on the host is told.
std::string CutLinkScript(int host);
std::string RestoreLinkScript(int host);

}  // namespace hoplite::testbed

#endif  // HOPLITE_TESTBED_NETWORK_SCRIPT_H_
