#include "hoplite/testbed/network_script.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "hoplite/base/check.h"

namespace hoplite::testbed {
namespace {

constexpr std::uint64_t kEthernetHeader = 14;
// The kernel counts a bucket in time; the way there and back rounds it down.
constexpr std::uint64_t kRounding = 64;
// What the kernel takes for 64 KiB with headers.
constexpr std::uint64_t kLargestSegment = 65000;
constexpr int kHostsPerBlock = 250;
// States of a bridge's port.
constexpr int kDisabled = 0;
constexpr int kForwarding = 3;

// Runs a command for each line of a text.
std::string Batch(absl::string_view command, absl::string_view lines) {
  if (lines.empty()) return "";
  return absl::StrCat(command, " -batch - <<'END'\n", lines, "END\n");
}

// `content` may hold batches, so it ends with another word than they do.
std::string File(absl::string_view path, absl::string_view content) {
  return absl::StrCat("cat >", path, " <<'END_OF_FILE'\n", content,
                      "END_OF_FILE\n");
}

// One run of the host's own part for each host, all at once; any that fails
// fails the whole.
std::string ForEachHost(const NetworkPlan& plan, absl::string_view script) {
  return absl::StrCat(File("/run/testbed/on_host", script),
                      "jobs=\n"
                      "for host in $(seq 0 ",
                      plan.hosts - 1,
                      "); do\n"
                      "  nsenter --net=/run/netns/host$host sh -eu "
                      "/run/testbed/on_host $host &\n"
                      "  jobs=\"$jobs $!\"\n"
                      "done\n"
                      "for job in $jobs; do wait $job; done\n");
}

std::string Shape(const NetworkPlan& plan, absl::string_view verb,
                  absl::string_view device) {
  if (!plan.link_bits_per_second.has_value()) return "";
  return absl::StrFormat(
      "qdisc %s dev %s root tbf rate %dbit burst %d limit %d\n", verb, device,
      *plan.link_bits_per_second, plan.bucket_bytes, plan.queue_bytes);
}

std::string ShapeAll(const NetworkPlan& plan, absl::string_view verb) {
  std::string result;
  for (int host = 0; host < plan.hosts; ++host) {
    absl::StrAppend(&result, Shape(plan, verb, absl::StrCat("veth", host)));
  }
  return result;
}

std::uint64_t SegmentOf(const NetworkPlan& plan) {
  return plan.link_bits_per_second.has_value()
             ? LargestSegment(plan.bucket_bytes, plan.mtu)
             : kLargestSegment;
}

std::string LinkLines(const NetworkPlan& plan) {
  std::string result = absl::StrFormat(
      "link add bridge mtu %d type bridge forward_delay 0 stp_state 0 "
      "mcast_snooping 0\n"
      "link set lo up\n",
      plan.mtu);
  const std::string end =
      absl::StrFormat("mtu %d gso_max_size %d", plan.mtu, SegmentOf(plan));
  for (int host = 0; host < plan.hosts; ++host) {
    absl::StrAppendFormat(&result,
                          "netns add host%1$d\n"
                          "link add veth%1$d %2$s type veth peer name eth0 "
                          "%2$s netns host%1$d\n"
                          "link set veth%1$d master bridge up\n",
                          host, end);
  }
  return absl::StrCat(result, "link set bridge up\n");
}

std::string HostsFile(const NetworkPlan& plan) {
  std::string result =
      "127.0.0.1 localhost\n"
      "::1 localhost ip6-localhost ip6-loopback\n";
  for (int host = 0; host < plan.hosts; ++host) {
    absl::StrAppend(&result, HostAddress(host), " ", HostName(host), "\n");
    if (plan.ipv6) {
      absl::StrAppend(&result, HostAddress6(host), " ", HostName(host), "\n");
    }
  }
  return result;
}

// The congestion control belongs to the routes: as a namespace's default an
// ordinary user may only name those that the machine allows everybody.
std::string HostAddressLines(const NetworkPlan& plan, int host) {
  const std::string control =
      plan.congestion_control.empty()
          ? "\n"
          : absl::StrCat(" congctl ", plan.congestion_control, "\n");
  std::string result = absl::StrFormat(
      "link set lo up\n"
      "link set eth0 up\n"
      "address add %1$s/16 dev eth0 noprefixroute\n"
      "route add 10.77.0.0/16 dev eth0 src %1$s%2$s",
      HostAddress(host), control);
  if (plan.ipv6) {
    absl::StrAppendFormat(&result,
                          "address add %s/64 dev eth0 nodad noprefixroute\n"
                          "route add fd77::/64 dev eth0%s",
                          HostAddress6(host), control);
  }
  return result;
}

// $1 is the host's number.
std::string OnHost(const NetworkPlan& plan) {
  std::string result =
      "cd /proc/sys/net\n"
      "if [ -e ipv6/conf/eth0 ]; then\n"
      "  echo 0 >ipv6/conf/eth0/accept_dad\n"
      "  echo 0 >ipv6/conf/eth0/accept_ra\n";
  if (!plan.ipv6) {
    absl::StrAppend(&result, "  echo 1 >ipv6/conf/eth0/disable_ipv6\n");
  }
  absl::StrAppend(&result, "fi\n");
  return absl::StrCat(result, "ip -batch /run/testbed/host$1\n",
                      Batch("tc", Shape(plan, "add", "eth0")));
}

}  // namespace

std::string HostName(int host) { return absl::StrCat("host", host); }

std::string HostAddress(int host) {
  return absl::StrFormat("10.77.%d.%d", host / kHostsPerBlock,
                         host % kHostsPerBlock + 1);
}

std::string HostAddress6(int host) {
  return absl::StrFormat("fd77::%x", host + 1);
}

std::string NetworkFile(int host) {
  return absl::StrCat("/run/netns/", HostName(host));
}

std::uint64_t SmallestBucket(int mtu) {
  return static_cast<std::uint64_t>(mtu) + kEthernetHeader + kRounding;
}

std::uint64_t LargestSegment(std::uint64_t bucket_bytes, int mtu) {
  HOPLITE_CHECK(bucket_bytes >= SmallestBucket(mtu));
  const std::uint64_t packets =
      (bucket_bytes - kRounding) /
      (static_cast<std::uint64_t>(mtu) + kEthernetHeader);
  return std::min(packets * static_cast<std::uint64_t>(mtu), kLargestSegment);
}

std::string SetUpScript(const NetworkPlan& plan) {
  std::string result =
      "set -eu\n"
      "mount --make-rprivate /\n"
      // Without a /proc of its own a program still runs, only some of what
      // it reads there by its process id is another's.
      "mount -t proc proc /proc 2>/dev/null || true\n"
      "mount -t tmpfs tmpfs /run\n"
      "mount -t tmpfs tmpfs /dev/shm\n"
      "mkdir /run/testbed\n"
      // A bridge that shows its packets to firewalls costs a third of what a
      // packet costs, and has none to show them to.
      "for kind in ip ip6 arp; do\n"
      "  file=/proc/sys/net/bridge/bridge-nf-call-${kind}tables\n"
      "  { echo 0 > \"$file\"; } 2>/dev/null || true\n"
      "done\n";
  absl::StrAppend(&result, File("/run/testbed/hosts", HostsFile(plan)),
                  "mount --bind /run/testbed/hosts /etc/hosts\n",
                  Batch("ip", LinkLines(plan)),
                  Batch("tc", ShapeAll(plan, "add")));
  for (int host = 0; host < plan.hosts; ++host) {
    absl::StrAppend(&result, File(absl::StrCat("/run/testbed/host", host),
                                  HostAddressLines(plan, host)));
  }
  return absl::StrCat(result, ForEachHost(plan, OnHost(plan)),
                      "nsenter --net=/run/netns/host0 cat "
                      "/proc/sys/net/ipv4/tcp_congestion_control\n");
}

std::string ReshapeScript(const NetworkPlan& plan) {
  const std::uint64_t segment = SegmentOf(plan);
  std::string links;
  for (int host = 0; host < plan.hosts; ++host) {
    absl::StrAppendFormat(&links, "link set veth%d gso_max_size %d\n", host,
                          segment);
  }
  return absl::StrCat(
      "set -eu\n", Batch("ip", links), Batch("tc", ShapeAll(plan, "replace")),
      ForEachHost(plan,
                  absl::StrCat("ip link set eth0 gso_max_size ", segment, "\n",
                               Batch("tc", Shape(plan, "replace", "eth0")))));
}

std::string CutLinkScript(int host) {
  return absl::StrCat("bridge link set dev veth", host, " state ", kDisabled,
                      "\n");
}

std::string RestoreLinkScript(int host) {
  return absl::StrCat("bridge link set dev veth", host, " state ", kForwarding,
                      "\n");
}

}  // namespace hoplite::testbed
