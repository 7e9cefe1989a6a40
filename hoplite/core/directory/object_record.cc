#include "hoplite/core/directory/object_record.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "hoplite/base/check.h"

namespace hoplite {

namespace {

void Unload(NodeRef node, std::uint32_t receivers, ServingLoads& loads) {
  if (receivers == 0) return;
  auto load = loads.find(node.node);
  HOPLITE_CHECK(load != loads.end() && load->second >= receivers);
  load->second -= receivers;
  if (load->second == 0) loads.erase(load);
}

}  // namespace

bool ObjectRecord::recoverable() const {
  if (payload != nullptr) return true;
  return std::ranges::any_of(copies, [&](const auto& entry) {
    return entry.second.producer || (sealed && entry.second.complete);
  });
}

Copy* ObjectRecord::Find(NodeRef node) {
  auto it = copies.find(node.node);
  if (it == copies.end() || it->second.node != node) return nullptr;
  return &it->second;
}

Copy& ObjectRecord::Add(NodeRef node, ServingLoads& loads) {
  Copy& copy = copies[node.node];
  if (copy.node == node) return copy;
  copy = Copy{.node = node};
  for (const auto& [id, other] : copies) {
    if (other.server == node) ++copy.serving;
  }
  if (copy.serving > 0) loads[node.node] += copy.serving;
  return copy;
}

void ObjectRecord::TakeServer(Copy& copy, Copy& server, ServingLoads& loads) {
  HOPLITE_CHECK(!copy.server);
  copy.server = server.node;
  ++server.serving;
  ++loads[server.node.node];
}

void ObjectRecord::FreeServer(Copy& copy, ServingLoads& loads) {
  if (!copy.server) return;
  if (Copy* server = Find(copy.server)) {
    HOPLITE_CHECK(server->serving > 0);
    --server->serving;
    Unload(server->node, 1, loads);
  }
  copy.server = NodeRef();
}

void ObjectRecord::Erase(NodeRef node, ServingLoads& loads) {
  Copy* copy = Find(node);
  if (copy == nullptr) return;
  FreeServer(*copy, loads);
  Unload(node, copy->serving, loads);
  copies.erase(node.node);
}

void ObjectRecord::RemoveWaiting(NodeRef node) {
  std::erase_if(waiting, [&](const WaitingAsk& ask) {
    return ask.node.node == node.node;
  });
}

void ObjectRecord::Forget(NodeRef node, ServingLoads& loads) {
  std::erase_if(waiting, [&](const auto& ask) { return ask.node == node; });
  std::erase_if(puts, [&](const auto& put) { return put.first == node; });
  std::erase_if(watchers, [&](const auto& watcher) {
    return watcher.coordinator == node;
  });
  std::erase_if(deleters,
                [&](const auto& deleter) { return deleter.first == node; });
  std::erase_if(dropping,
                [&](const auto& holder) { return holder.first == node; });
  Erase(node, loads);
  for (auto& [id, copy] : copies) {
    if (copy.server == node) FreeServer(copy, loads);
  }
}

void ObjectRecord::Reset(ServingLoads& loads) {
  for (auto& [id, copy] : copies) FreeServer(copy, loads);
  generation = Generation();
  size = 0;
  frame_bytes = 0;
  degree = 1;
  sealed = final = streams = false;
  payload = nullptr;
  copies.clear();
}

std::string ObjectRecord::CheckInvariants() const {
  absl::btree_map<NodeId, std::uint32_t> served;
  for (const auto& [id, copy] : copies) {
    if (copy.server) ++served[copy.server.node];
  }
  for (const auto& [id, copy] : copies) {
    if (copy.node.node != id) return "a copy stands under another node's id";
    if (copy.serving != served[id]) {
      return absl::StrCat("node ", id.value(), " serves ", served[id],
                          " receivers and is charged for ", copy.serving);
    }
    std::size_t hops = 0;
    NodeRef at = copy.server;
    while (at) {
      if (++hops > copies.size()) return "the fetch graph has a cycle";
      auto next = copies.find(at.node);
      at = next == copies.end() ? NodeRef() : next->second.server;
    }
  }
  return "";
}

}  // namespace hoplite
