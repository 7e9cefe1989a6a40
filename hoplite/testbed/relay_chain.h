// A chain of relay members, one on each host of a testbed, over connections
// that stay: measures how fast bytes go through all of them.
//
// Thread safety: none; one thread at a time.

#ifndef HOPLITE_TESTBED_RELAY_CHAIN_H_
#define HOPLITE_TESTBED_RELAY_CHAIN_H_

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "hoplite/testbed/host_process.h"
#include "hoplite/testbed/payload_rate.h"
#include "hoplite/testbed/testbed.h"

namespace hoplite::testbed {

class RelayChain {
 public:
  // Starts a member on each host and connects them. `program` is one that
  // calls RelayMember::Run when its argument is --member=<position>.
  //
  // Errors: kInvalidArgument for a testbed of one host, otherwise those of
  // Testbed::Start and of the members.
  // Ownership: `testbed` must outlive the chain.
  static absl::StatusOr<std::unique_ptr<RelayChain>> Create(
      Testbed& testbed, absl::string_view program);

  // Of one stream from the first host to the second.
  absl::StatusOr<PayloadRate> MeasureRate();

  // From when the first member sends its first byte until the last has all.
  // `add`: each member adds its own floats. The result was compared.
  //
  // REQUIRES: bytes is below 2 GiB and, for `add`, a multiple of 4.
  absl::StatusOr<absl::Duration> Relay(std::size_t bytes, bool add);

 private:
  explicit RelayChain(Testbed& testbed) : testbed_(testbed) {}

  absl::Status Connect();
  absl::Status Tell(std::size_t member, absl::string_view line);
  // The rest of the member's next line, which begins with `word`.
  absl::StatusOr<std::string> Expect(std::size_t member,
                                     absl::string_view word);

  Testbed& testbed_;
  std::vector<std::unique_ptr<HostProcess>> members_;
};

}  // namespace hoplite::testbed

#endif  // HOPLITE_TESTBED_RELAY_CHAIN_H_
