// The trace of a run: one line for each event, timeout and command.
//
//   0000000.001234567 n0003 > MessageReceived from=2#2 message={Ask …}
//   0000000.001234567 n0003 < Send to=4#4 message={Grant …}
//
// Columns are fixed, so that two traces can be compared line by line. The
// hash of all lines tells whether two runs were the same.
//
// Thread safety: none; one thread at a time.

#ifndef HOPLITE_SIM_TRACE_H_
#define HOPLITE_SIM_TRACE_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "hoplite/sim/observer.h"

namespace hoplite::sim {

class Trace final : public Observer {
 public:
  using LineSink = std::function<void(absl::string_view)>;

  // Keeps the last `lines_kept`; `sink`, where there is one, gets them all.
  explicit Trace(std::size_t lines_kept, LineSink sink = nullptr)
      : lines_kept_(lines_kept), sink_(std::move(sink)) {}

  // FNV-1a over all lines so far.
  std::uint64_t hash() const { return hash_; }
  std::uint64_t line_count() const { return line_count_; }
  const std::deque<std::string>& last_lines() const { return lines_; }

  void OnEvent(absl::Time now, NodeRef node, const Event& event) override;
  void OnTimeout(absl::Time now, NodeRef node) override;
  void OnCommand(absl::Time now, NodeRef node, const Command& command) override;
  void OnComplaint(absl::Time now, NodeRef node,
                   absl::string_view what) override;
  void OnNodeDown(absl::Time now, NodeRef node) override;

 private:
  void Line(absl::Time now, NodeRef node, char kind, absl::string_view text);

  const std::size_t lines_kept_;
  const LineSink sink_;
  std::uint64_t hash_ = 0xcbf29ce484222325u;
  std::uint64_t line_count_ = 0;
  std::deque<std::string> lines_;
};

}  // namespace hoplite::sim

#endif  // HOPLITE_SIM_TRACE_H_
