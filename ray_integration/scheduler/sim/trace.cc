#include "ray_integration/scheduler/sim/trace.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace hoplite::task::sim {

void Trace::Mix(std::uint64_t value) {
  hash_ = (hash_ ^ value) * 0x100000001b3u;
  hash_ ^= hash_ >> 29;
}

void Trace::Short(absl::Time now, NodeRef node, std::uint64_t kind) {
  ++line_count_;
  Mix(static_cast<std::uint64_t>(absl::ToUnixNanos(now)));
  Mix(node.incarnation.value() << 8 | kind);
}

void Trace::Line(absl::Time now, NodeRef node, char kind,
                 const std::string& text) {
  ++line_count_;
  const std::string line = absl::StrFormat(
      "%012.6f n%04d#%d %c %s", absl::ToDoubleSeconds(now - absl::UnixEpoch()),
      node.node.value(), node.incarnation.value(), kind, text);
  for (const char c : line) Mix(static_cast<unsigned char>(c));
  if (sink_ != nullptr) sink_(line);
}

void Trace::OnEvent(absl::Time now, NodeRef node, const SchedulerEvent& event) {
  if (!thorough_) return Short(now, node, event.index());
  Line(now, node, '>', DebugString(event));
}

void Trace::OnCommand(absl::Time now, NodeRef node,
                      const SchedulerCommand& command) {
  if (!thorough_) return Short(now, node, 64 + command.index());
  Line(now, node, '<', DebugString(command));
}

void Trace::OnStep(absl::Time now, NodeRef node, absl::string_view what,
                   std::uint64_t number) {
  if (!thorough_) return Short(now, node, 128 + what.size() + number);
  Line(now, node, '.', absl::StrCat(what, " ", number));
}

}  // namespace hoplite::task::sim
