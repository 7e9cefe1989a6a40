// NodeServer::Start: the transports that a node has outside tests.

#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "hoplite/base/status_macros.h"
#include "hoplite/net/grpc_control.h"
#include "hoplite/net/heartbeats.h"
#include "hoplite/net/host_port.h"
#include "hoplite/net/local_address.h"
#include "hoplite/net/tcp_data.h"
#include "hoplite/runtime/node_server.h"

namespace hoplite {
namespace {

// The host that other nodes are told, for both planes.
absl::StatusOr<std::string> AdvertisedHost(const NodeOptions& options,
                                           const HostPort& listen) {
  if (!options.advertise.empty()) return options.advertise;
  if (!listen.is_wildcard()) return listen.host;
  if (options.join.empty()) return OwnHost(listen);
  HOPLITE_ASSIGN_OR_RETURN(const HostPort head, HostPort::Parse(options.join));
  return LocalHostTowards(head, listen);
}

absl::Status While(absl::string_view doing, const absl::Status& status) {
  return absl::Status(status.code(),
                      absl::StrCat(doing, ": ", status.message()));
}

absl::StatusOr<Transports> OpenTransports(const NodeOptions& options) {
  HOPLITE_ASSIGN_OR_RETURN(const HostPort listen,
                           HostPort::Parse(options.listen));
  if (!options.agent_address.empty()) {
    HOPLITE_RETURN_IF_ERROR(HostPort::Parse(options.agent_address).status());
  }
  HOPLITE_ASSIGN_OR_RETURN(const std::string advertise,
                           AdvertisedHost(options, listen));
  const std::string data_listen =
      options.data_listen.empty()
          ? HostPort{.host = listen.host, .port = 0}.ToString()
          : options.data_listen;
  auto data = ListenTcpData(
      {.listen_address = data_listen, .advertise_host = advertise});
  if (!data.ok()) {
    return While(absl::StrCat("cannot listen for data at ", data_listen),
                 data.status());
  }
  auto control =
      GrpcControl::Listen({.listen = options.listen, .advertise = advertise});
  if (!control.ok()) {
    return While(absl::StrCat("cannot listen at ", options.listen),
                 control.status());
  }
  const HeartbeatOptions beats{.interval = options.heartbeat_interval,
                               .dead_after = options.dead_after};
  Transports transports{.control = *std::move(control),
                        .data = *std::move(data),
                        .heartbeats = std::make_unique<Heartbeats>(beats)};
  if (!options.join.empty()) return transports;
  HOPLITE_ASSIGN_OR_RETURN(
      transports.heartbeats,
      Heartbeats::Listen(
          SamePlace(options.listen, transports.control->address()), beats));
  return transports;
}

}  // namespace

std::string SamePlace(absl::string_view listen, absl::string_view address) {
  const auto asked = HostPort::Parse(listen);
  const auto real = HostPort::Parse(address);
  if (!asked.ok() || !real.ok()) return std::string(listen);
  return HostPort{.host = asked->host, .port = real->port}.ToString();
}

std::string Advertised(absl::string_view listen, absl::string_view address) {
  const auto asked = HostPort::Parse(listen);
  const auto real = HostPort::Parse(address);
  if (!asked.ok() || !real.ok() || !asked->is_wildcard()) {
    return std::string(listen);
  }
  return HostPort{.host = real->host, .port = asked->port}.ToString();
}

absl::StatusOr<std::unique_ptr<NodeServer>> NodeServer::Start(
    const NodeOptions& options) {
  return StartOver(options, OpenTransports);
}

}  // namespace hoplite
