// How this project uses gRPC: the settings of channels and servers.
//
// Chosen for the latency of small messages on streams that stay open, for
// dead peers that are noticed, and for bounded messages.
//
// Thread safety: thread-safe.

#ifndef HOPLITE_NET_GRPC_SETTINGS_H_
#define HOPLITE_NET_GRPC_SETTINGS_H_

#include <grpcpp/grpcpp.h>

#include <memory>
#include <string>

#include "hoplite/net/host_port.h"

namespace hoplite {

// A channel with a connection of its own; it connects at the first call.
std::shared_ptr<grpc::Channel> MakeChannel(const HostPort& address);

// The server's side of the same.
void ApplyServerSettings(grpc::ServerBuilder& builder);

// What a channel takes for an address: "ipv6:%5B::1%5D:7000".
std::string ToGrpcTarget(const HostPort& address);

}  // namespace hoplite

#endif  // HOPLITE_NET_GRPC_SETTINGS_H_
