#include "hoplite/net/in_process_control.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "hoplite/base/check.h"
#include "hoplite/net/in_process_node.h"

namespace hoplite {

std::unique_ptr<ControlTransport> InProcessNetwork::Listen() {
  std::string address;
  {
    MutexLock lock(mutex_);
    address = absl::StrCat("in-process:", ++last_port_);
  }
  return ListenAt(address);
}

std::unique_ptr<ControlTransport> InProcessNetwork::ListenAt(
    const std::string& address) {
  auto node = std::make_unique<InProcessNode>(shared_from_this(), address);
  MutexLock lock(mutex_);
  const bool is_free = nodes_.emplace(address, node.get()).second;
  HOPLITE_CHECK(is_free);
  return node;
}

bool InProcessNetwork::Post(const std::string& address,
                            std::function<void(InProcessNode&)> work) {
  MutexLock lock(mutex_);
  const auto found = nodes_.find(address);
  if (found == nodes_.end()) return false;
  found->second->Post(std::move(work));
  return true;
}

void InProcessNetwork::Remove(const std::string& address) {
  MutexLock lock(mutex_);
  nodes_.erase(address);
}

}  // namespace hoplite
