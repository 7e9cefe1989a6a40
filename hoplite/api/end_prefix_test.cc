// Delete by owner, from the agent's side to the client's.

#include <array>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "hoplite/api/client_contract.h"
#include "hoplite/api/hoplite.h"
#include "hoplite/base/id_prefix.h"
#include "hoplite/base/testing/status_matchers.h"
#include "hoplite/runtime/node_server.h"

namespace hoplite {
namespace {

constexpr absl::StatusCode kNotFound = absl::StatusCode::kNotFound;

// The number-th id of an owner.
ObjectId IdOf(std::uint8_t owner, std::uint8_t number) {
  ObjectId::Bytes bytes{};
  bytes.front() = owner;
  bytes.back() = number;
  return ObjectId(bytes);
}

TEST(EndPrefixTest, WhatAnOwnerHasMadeEndsEverywhere) {
  const TemporaryFolder sockets;
  std::array<std::unique_ptr<NodeServer>, 3> nodes;
  std::array<std::unique_ptr<Client>, 3> clients;
  std::string head;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    nodes[i] =
        NodeServer::Start({.join = head,
                           .store_bytes = kStoreBytes,
                           .serve_clients = true,
                           .socket_path = absl::StrCat(sockets.path(), "/", i)})
            .value();
    head = nodes[0]->control_address();
    clients[i] = Client::Connect(nodes[i]->socket_path()).value();
  }
  const auto bytes = Pattern(100'000, 1);
  for (std::uint8_t number = 1; number <= 10; ++number) {
    ASSERT_THAT(clients[1]->Put(IdOf(7, number), bytes), IsOk());
  }
  ASSERT_THAT(clients[1]->Put(IdOf(8, 1), bytes), IsOk());
  Future<Buffer> waiting = clients[2]->GetAsync(IdOf(7, 99));

  for (const auto& node : nodes) node->EndPrefix(IdPrefix::Of(IdOf(7, 0)));
  EXPECT_THAT(waiting.Get(), StatusIs(kNotFound));
  for (std::uint8_t number = 1; number <= 10; ++number) {
    EXPECT_THAT(clients[2]->Get(IdOf(7, number), {.timeout = kPatience}),
                StatusIs(kNotFound));
  }
  EXPECT_THAT(clients[2]->Put(IdOf(7, 11), bytes), StatusIs(kNotFound));
  auto buffer = clients[0]->Create(IdOf(7, 12), 100'000);
  EXPECT_THAT(buffer.ok() ? buffer->Seal() : buffer.status(),
              StatusIs(kNotFound));
  const ObjectId sources[] = {IdOf(8, 1)};
  EXPECT_THAT(clients[2]->Reduce(IdOf(7, 13), sources), StatusIs(kNotFound));
  EXPECT_THAT(clients[2]->Get(IdOf(8, 1), {.timeout = kPatience}), IsOk());
}

}  // namespace
}  // namespace hoplite
