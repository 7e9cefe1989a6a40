// NodeServer is one node of a cluster: it wires machine, transports, store and
// clients together, and runs them.
//
// Start listens, joins (or begins) a cluster, and serves until Stop.
//
// Thread safety: thread-safe.

#ifndef HOPLITE_RUNTIME_NODE_SERVER_H_
#define HOPLITE_RUNTIME_NODE_SERVER_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "hoplite/net/control_transport.h"
#include "hoplite/net/data_plane.h"
#include "hoplite/runtime/node_options.h"
#include "hoplite/runtime/request_port.h"

namespace hoplite {

class NodeServer final : public RequestPort {
 public:
  // Listens over gRPC and TCP.
  // Joins as soon as the head is up, at most options.join_timeout from now.
  // Errors: kUnavailable: cannot listen, or could not reach the head in that
  // time, and why; kDeadlineExceeded: the head did not answer in that time;
  // kInvalidArgument: an address is none; kResourceExhausted: no memory for
  // the store; kAlreadyExists: another node serves options.socket_path.
  static absl::StatusOr<std::unique_ptr<NodeServer>> Start(
      const NodeOptions& options);
  // The same over these transports, which listen already; of the options'
  // addresses only `join` is used.
  static absl::StatusOr<std::unique_ptr<NodeServer>> StartOver(
      const NodeOptions& options, std::unique_ptr<ControlTransport> control,
      std::unique_ptr<DataPlane> data);
  // As Stop does.
  ~NodeServer() override;

  // Answers every request with kCancelled, leaves the cluster and ends all
  // connections; takes at most a second or two. REQUIRES: not called by a
  // RequestObserver.
  void Stop();

  // host:port of the control plane, with the real port: what others join by.
  std::string control_address() const;
  // Empty where it serves no clients.
  std::string socket_path() const;

  RequestId NewRequest() override;
  void Submit(Event event, std::shared_ptr<RequestObserver> observer) override;
  void Filled(RequestId request) override;
  void Cancel(RequestId request) override;
  NodeReport Report() override;

 private:
  struct Parts;
  explicit NodeServer(std::unique_ptr<Parts> parts);

  const std::unique_ptr<Parts> parts_;
};

}  // namespace hoplite

#endif  // HOPLITE_RUNTIME_NODE_SERVER_H_
