// What one plain TCP stream carries between two hosts: the rate of payload
// that every other measurement on the same links is read against.
//
// The two ends run in two processes, one on each host:
//
//   server:  HOPLITE_ASSIGN_OR_RETURN(auto server,
//   PayloadRateServer::Listen());
//            ... tell the client server.port() ...
//            HOPLITE_RETURN_IF_ERROR(server.ServeOne(deadline));
//   client:  HOPLITE_ASSIGN_OR_RETURN(PayloadRate rate,
//                                     MeasurePayloadRate("host1", port, {}));
//
// The receiving end counts what arrives, after a time that lets the sender
// find the rate and the link's bucket run dry.
//
// Thread safety: none; one thread at a time.
// Units: bits of payload (no headers) per second.

#ifndef HOPLITE_TESTBED_PAYLOAD_RATE_H_
#define HOPLITE_TESTBED_PAYLOAD_RATE_H_

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "hoplite/testbed/descriptor.h"

namespace hoplite::testbed {

struct PayloadRateOptions {
  absl::Duration warm_up = absl::Milliseconds(500);
  absl::Duration measured = absl::Seconds(1);
};

struct PayloadRate {
  double bits_per_second = 0;
  // Of the sending end.
  std::string congestion_control;
};

class PayloadRateServer {
 public:
  // Listens on a free port of all addresses.
  //
  // Errors: kUnavailable.
  static absl::StatusOr<PayloadRateServer> Listen();

  int port() const { return port_; }

  // Serves one measurement, from its connection to its end, when nothing of
  // it is on the link any more.
  //
  // Errors: kDeadlineExceeded where nobody connects, kUnavailable where the
  // client goes before the end, kInvalidArgument where it is none of ours.
  absl::Status ServeOne(absl::Time deadline);

 private:
  PayloadRateServer(Descriptor listener, int port)
      : listener_(std::move(listener)), port_(port) {}

  Descriptor listener_;
  int port_;
};

// Sends to a server on `host`, a name or an address, for the time of
// `options`, and returns what the server has counted.
//
// Errors: kNotFound for a name that does not resolve, kUnavailable where the
// server is not there or goes, kInvalidArgument for times that are not above
// zero or longer than an hour.
absl::StatusOr<PayloadRate> MeasurePayloadRate(
    absl::string_view host, int port, const PayloadRateOptions& options);

}  // namespace hoplite::testbed

#endif  // HOPLITE_TESTBED_PAYLOAD_RATE_H_
