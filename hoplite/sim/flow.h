// The states of one flow and one fold of the simulated data plane.
//
// Thread safety: values; as safe as int.
// Units: bytes.

#ifndef HOPLITE_SIM_FLOW_H_
#define HOPLITE_SIM_FLOW_H_

#include <cstdint>
#include <deque>
#include <vector>

#include "absl/time/time.h"
#include "hoplite/core/command.h"
#include "hoplite/core/event.h"
#include "hoplite/sim/content.h"
#include "hoplite/sim/network_model.h"

namespace hoplite::sim {

// One pull over one connection.
struct Flow {
  enum class Serving : std::uint8_t { kConnecting, kAsked, kSending, kEnded };

  NodeRef receiver;
  NodeRef server;
  PullKey key;
  Generation generation;
  std::uint64_t begin = 0;
  std::uint64_t size = 0;
  std::uint64_t frame_bytes = 1;
  std::uint64_t window_bytes = 0;

  // The receiver's end.
  bool receiving = true;
  TransferId transfer;     // of a transfer
  BufferId into;           // likewise
  std::uint32_t fold = 0;  // of a fold's input: the fold, and which input
  std::uint32_t input = 0;
  bool for_fold = false;

  // The server's end.
  Serving serving = Serving::kConnecting;
  bool late = false;  // the pull has not come through yet
  PullId pull;
  BufferId from;
  std::uint64_t sent = 0;  // the first byte that has not left
  absl::Time first_left = absl::InfinitePast();

  // Between them.
  std::deque<Segments> on_the_way;  // frames
  std::uint64_t unconsumed = 0;     // bytes sent and not yet used up
  std::uint64_t next_arrival = 0;   // number of the frame in front
  std::uint64_t next_departure = 0;
  bool failing = false;  // the receiver fails when nothing is on the way
  bool refused = false;
};

// One standing fold order.
struct FoldState {
  NodeRef node;
  command::StartFold order;
  std::uint64_t frame_bytes = 1;
  std::uint64_t folded = 0;      // the output's watermark
  std::vector<StreamId> flows;   // one an input; none for a local one
  std::vector<Segments> landed;  // one an input: what has arrived
  bool ended = false;
};

}  // namespace hoplite::sim

#endif  // HOPLITE_SIM_FLOW_H_
