#include "hoplite/sim/trace.h"

#include "absl/strings/str_format.h"

namespace hoplite::sim {

void Trace::Line(absl::Time now, NodeRef node, char kind,
                 absl::string_view text) {
  constexpr std::int64_t kNanosecondsPerSecond = 1'000'000'000;
  const std::int64_t at = absl::ToUnixNanos(now);
  std::string line = absl::StrFormat(
      "%07d.%09d n%04d %c %s", at / kNanosecondsPerSecond,
      at % kNanosecondsPerSecond, node.node.value(), kind, text);
  for (char c : line) {
    hash_ = (hash_ ^ static_cast<std::uint8_t>(c)) * 0x100000001b3u;
  }
  ++line_count_;
  if (sink_ != nullptr) sink_(line);
  if (lines_kept_ == 0) return;
  if (lines_.size() == lines_kept_) lines_.pop_front();
  lines_.push_back(std::move(line));
}

void Trace::OnEvent(absl::Time now, NodeRef node, const Event& event) {
  Line(now, node, '>', DebugString(event));
}

void Trace::OnTimeout(absl::Time now, NodeRef node) {
  Line(now, node, 't', "timeout");
}

void Trace::OnCommand(absl::Time now, NodeRef node, const Command& command) {
  Line(now, node, '<', DebugString(command));
}

void Trace::OnComplaint(absl::Time now, NodeRef node, absl::string_view what) {
  Line(now, node, '!', what);
}

void Trace::OnNodeDown(absl::Time now, NodeRef node) {
  Line(now, node, 'x', "down");
}

}  // namespace hoplite::sim
