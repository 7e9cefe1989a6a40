// ClientContractTest asks what Client promises, of a node in the client's own
// process and of one behind its Unix socket alike.
//
// Thread safety: none; one thread at a time, but for client().

#ifndef HOPLITE_API_CLIENT_CONTRACT_H_
#define HOPLITE_API_CLIENT_CONTRACT_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "hoplite/api/embedded_backend.h"
#include "hoplite/api/hoplite.h"
#include "hoplite/base/digest.h"
#include "hoplite/net/in_process_control.h"
#include "hoplite/net/tcp_data.h"
#include "hoplite/runtime/node_server.h"

namespace hoplite {

inline constexpr std::uint64_t kStoreBytes = 64 << 20;
// No call here takes longer, unless it hangs.
inline constexpr absl::Duration kPatience = absl::Seconds(30);

// How a client reaches its node, and that node the others.
struct Form {
  bool over_socket = false;
  bool in_process = false;  // control messages; the data goes over TCP
};

// ThreadSanitizer does not see how gRPC passes work on between threads.
#if defined(__SANITIZE_THREAD__)
inline const std::vector<Form> kForms = {{false, true}, {true, true}};
#else
inline const std::vector<Form> kForms = {
    {false, false}, {true, false}, {false, true}, {true, true}};
#endif

inline std::string NameOfForm(const ::testing::TestParamInfo<Form>& info) {
  return absl::StrCat(info.param.over_socket ? "Socket" : "Embedded",
                      info.param.in_process ? "InProcess" : "");
}

inline std::vector<std::byte> Pattern(std::uint64_t size, std::uint8_t seed) {
  std::vector<std::byte> bytes(size);
  for (std::uint64_t i = 0; i < size; ++i) {
    bytes[i] = static_cast<std::byte>((i * 131 + (i >> 8) + seed) & 0xff);
  }
  return bytes;
}

inline bool Equal(std::span<const std::byte> a, std::span<const std::byte> b) {
  return std::ranges::equal(a, b);
}

// A folder for sockets, gone with this.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string path = absl::StrCat(
        std::filesystem::temp_directory_path().string(), "/hopliteXXXXXX");
    path_ = mkdtemp(path.data());
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// A cluster in this process, and a client for each node.
class ClientContractTest : public ::testing::TestWithParam<Form> {
 protected:
  // Node 0 is the head.
  Client& StartNode(std::uint64_t store_bytes = kStoreBytes) {
    NodeOptions options{.join = head_address_, .store_bytes = store_bytes};
    if (GetParam().over_socket) {
      options.serve_clients = true;
      options.socket_path =
          absl::StrCat(sockets_.path(), "/", nodes_.size(), ".sock");
    }
    if (GetParam().over_socket) {
      nodes_.push_back(NewNode(options));
      clients_.push_back(Client::Connect(options.socket_path).value());
    } else if (GetParam().in_process) {
      clients_.push_back(std::make_unique<Client>(
          std::make_shared<EmbeddedBackend>(NewNode(options))));
    } else {
      clients_.push_back(Client::Embed(options).value());
    }
    if (head_address_.empty()) {
      head_address_ = clients_.back()->Report()->control_address;
    }
    return *clients_.back();
  }
  void StartNodes(int count) {
    for (int i = 0; i < count; ++i) StartNode();
  }
  Client& client(int i) { return *clients_[i]; }
  ObjectId NewId() { return IdFromName(absl::StrCat("object ", ++last_id_)); }
  // Ends node `i` and its client.
  void StopNode(int i) {
    clients_[i].reset();
    if (GetParam().over_socket) nodes_[i].reset();
  }

 private:
  std::unique_ptr<NodeServer> NewNode(const NodeOptions& options) {
    if (!GetParam().in_process) return NodeServer::Start(options).value();
    const auto open = [this](const NodeOptions&) -> absl::StatusOr<Transports> {
      return Transports{.control = network_->Listen(),
                        .data = ListenTcpData({}).value(),
                        .heartbeats = nullptr};
    };
    return NodeServer::StartOver(options, open).value();
  }

  const std::shared_ptr<InProcessNetwork> network_ = InProcessNetwork::Create();
  TemporaryFolder sockets_;
  std::string head_address_;
  std::vector<std::unique_ptr<NodeServer>> nodes_;
  std::vector<std::unique_ptr<Client>> clients_;
  int last_id_ = 0;
};

}  // namespace hoplite

#endif  // HOPLITE_API_CLIENT_CONTRACT_H_
