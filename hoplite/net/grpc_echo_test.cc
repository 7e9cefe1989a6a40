#include "hoplite/net/grpc_echo.h"

#include <memory>
#include <string>

#include "gtest/gtest.h"

namespace hoplite {
namespace {

TEST(GrpcEchoTest, WhatIsSentComesBack) {
  const auto server = EchoServer::Listen("127.0.0.1:0");
  ASSERT_TRUE(server.ok()) << server.status();
  const auto client = EchoClient::Connect((*server)->address());
  ASSERT_TRUE(client.ok()) << client.status();
  for (const std::string& bytes :
       {std::string(), std::string("x"), std::string(100000, 'y')}) {
    const auto answer = (*client)->Echo(bytes);
    ASSERT_TRUE(answer.ok()) << answer.status();
    EXPECT_EQ(*answer, bytes);
  }
}

TEST(GrpcEchoTest, TheServerMayEndBeforeItsClients) {
  // Many times: what ends first is a matter of chance.
  for (int i = 0; i < 50; ++i) {
    auto server = EchoServer::Listen("127.0.0.1:0");
    ASSERT_TRUE(server.ok()) << server.status();
    const auto client = EchoClient::Connect((*server)->address());
    ASSERT_TRUE(client.ok()) << client.status();
    ASSERT_TRUE((*client)->Echo("x").ok());
    server->reset();
    EXPECT_FALSE((*client)->Echo("x").ok());
  }
}

}  // namespace
}  // namespace hoplite
