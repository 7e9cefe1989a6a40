#include "tests/cases/process_cluster.h"

#include <csignal>
#include <utility>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "hoplite/base/testing/status_matchers.h"
#include "tests/cases/cases_cluster.h"

namespace hoplite {
namespace {

// The hosts' networks are their own, so the ports are free.
std::string AddressOf(int node) { return absl::StrCat("host", node, ":7000"); }

}  // namespace

ProcessCluster::ProcessCluster(
    int nodes, std::optional<std::uint64_t> link_bits_per_second)
    : hosts_(testbed::TestbedOptions{
          .hosts = nodes, .link_bits_per_second = link_bits_per_second}),
      nodes_(nodes),
      clients_(nodes),
      refs_(nodes) {
  for (int i = 0; i < nodes; ++i) Launch(i);
}

void ProcessCluster::Launch(int node) {
  const std::string role =
      node == 0 ? "--head" : absl::StrCat("--join=", AddressOf(0));
  nodes_[node] =
      hosts_.RunNode(node, {role, absl::StrCat("--listen=", AddressOf(node))});
  Reconnect(node);
}

void ProcessCluster::Reconnect(int node) {
  clients_[node].reset();
  // It may be between two lives.
  EXPECT_TRUE(Eventually([&] {
    auto client = Client::Connect(Socket(node));
    if (client.ok()) clients_[node] = *std::move(client);
    return client.ok() && clients_[node]->Report().ok();
  })) << "node "
      << node << " does not answer";
  refs_[node] = Report(node).status.self;
}

NodeReport ProcessCluster::Report(int node) {
  const auto report = clients_[node]->Report();
  EXPECT_THAT(report, IsOk()) << "node " << node;
  return report.ok() ? *report : NodeReport();
}

std::string ProcessCluster::Socket(int node) const {
  return nodes_[node].started.value("socket", "");
}

void ProcessCluster::Kill(int node) {
  ASSERT_THAT(process(node).Signal(SIGKILL), IsOk());
  ASSERT_THAT(process(node).Wait(Soon()), IsOk());
}

void ProcessCluster::Restart(int node) { Launch(node); }

std::optional<int> ProcessCluster::ServerOf(int node, const ObjectId& object) {
  for (const LocalObjectStatus& each : Report(node).status.objects) {
    if (each.object != object || !each.server) continue;
    for (int i = 0; i < size(); ++i) {
      if (refs_[i] == each.server) return i;
    }
  }
  return std::nullopt;
}

bool ProcessCluster::AwaitMembers(int observer, std::size_t count) {
  return Eventually(
      [&] { return Report(observer).status.members.size() == count; });
}

}  // namespace hoplite
