// One member of a bare relay: what arrives from the member before goes on to
// the member after, as it is or with this member's floats added.
//
// Nothing is between the bytes and the kernel: no protocol, no copy beyond
// one buffer. So its time is the floor for anything that relays in a chain.
//
// A member is a process that obeys lines of its standard input and answers
// each with a line:
//
//   listen             -> port <number>      for the member before
//   connect <host> <port> -> connected       to the member after
//   accept             -> accepted           the member before
//   relay <bytes>      -> ready, then the time when it was through with all
//   add <bytes>        -> the same; adds its own floats
//   serve              -> port <number>, then served: the payload rate's server
//   measure <host> <port> -> rate <bits per second> <congestion control>
//
// A first member is told to relay when all others are ready, and its time is
// when it began. Times are nanoseconds of the clock that all members share.
//
// Thread safety: none; one thread.

#ifndef HOPLITE_TESTBED_RELAY_MEMBER_H_
#define HOPLITE_TESTBED_RELAY_MEMBER_H_

#include <cstddef>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "hoplite/testbed/descriptor.h"

namespace hoplite::testbed {

class RelayMember {
 public:
  // `position` counts from 0.
  explicit RelayMember(int position) : position_(position) {}

  // Obeys until the end of the input. A command that fails ends it too.
  //
  // Errors: those of the command; kDataLoss where the last member received
  // other bytes than were sent.
  absl::Status Run(std::istream& input, std::ostream& output);

 private:
  absl::StatusOr<std::string> Obey(const std::vector<std::string>& words,
                                   std::ostream& output);
  absl::StatusOr<std::string> Relay(std::size_t bytes, bool add,
                                    std::ostream& output);
  // Every one of them moves all of `bytes`; for `add` they are floats.
  absl::Status SendOwn(std::size_t bytes, bool add);
  absl::Status PassOn(std::size_t bytes);
  absl::Status AddAndPassOn(std::size_t bytes);
  absl::Status CheckReceived(std::size_t bytes, bool add) const;

  bool is_first() const { return !before_.is_open(); }
  bool is_last() const { return !after_.is_open(); }

  const int position_;
  Descriptor listener_;
  Descriptor before_;
  Descriptor after_;
  // What the last member received.
  std::vector<std::byte> received_;
  // What each member adds, and the first sends.
  std::vector<float> own_floats_;
  std::vector<std::byte> own_bytes_;
};

}  // namespace hoplite::testbed

#endif  // HOPLITE_TESTBED_RELAY_MEMBER_H_
