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
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "hoplite/api/hoplite.h"
#include "hoplite/base/digest.h"
#include "hoplite/base/testing/status_matchers.h"
#include "hoplite/runtime/node_server.h"

namespace hoplite {

inline constexpr std::uint64_t kStoreBytes = 64 << 20;
// No call here takes longer, unless it hangs.
inline constexpr absl::Duration kPatience = absl::Seconds(30);

enum class Form { kEmbedded, kSocket };

inline std::vector<std::byte> Pattern(std::uint64_t size, std::uint8_t seed) {
  std::vector<std::byte> bytes(size);
  for (std::uint64_t i = 0; i < size; ++i) {
    bytes[i] = static_cast<std::byte>((i * 131 + (i >> 8) + seed) & 0xff);
  }
  return bytes;
}

inline std::vector<float> Floats(std::size_t count, float value) {
  std::vector<float> floats(count);
  for (std::size_t i = 0; i < count; ++i) {
    floats[i] = value + static_cast<float>(i % 1000);
  }
  return floats;
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
    if (GetParam() == Form::kEmbedded) {
      auto client = Client::Embed(options);
      EXPECT_THAT(client, IsOk());
      clients_.push_back(*std::move(client));
    } else {
      options.serve_clients = true;
      options.socket_path =
          absl::StrCat(sockets_.path(), "/", nodes_.size(), ".sock");
      auto node = NodeServer::Start(options);
      EXPECT_THAT(node, IsOk());
      nodes_.push_back(*std::move(node));
      auto client = Client::Connect(options.socket_path);
      EXPECT_THAT(client, IsOk());
      clients_.push_back(*std::move(client));
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
    if (GetParam() == Form::kSocket) nodes_[i].reset();
  }

 private:
  TemporaryFolder sockets_;
  std::string head_address_;
  std::vector<std::unique_ptr<NodeServer>> nodes_;
  std::vector<std::unique_ptr<Client>> clients_;
  int last_id_ = 0;
};

}  // namespace hoplite

#endif  // HOPLITE_API_CLIENT_CONTRACT_H_
