#include "hoplite/cli/bench_spot.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace hoplite::cli {
namespace {

constexpr char kFetching[] = "fetching";

// Finds places of one kind.
class Finder {
 public:
  Finder(const Fault& fault, const ObjectId& object,
         const std::vector<NodeStatus>& reports, int victims)
      : fault_(fault), object_(object), reports_(reports), victims_(victims) {}

  std::vector<FaultSpot> Find() {
    for (std::size_t i = 0; i < reports_.size(); ++i) {
      const int node = static_cast<int>(i);
      for (const LocalObjectStatus& copy : reports_[i].objects) {
        if (copy.object == object_ && copy.state == kFetching) {
          LookAtCopy(node, copy);
        }
      }
      for (const PositionStatus& position : reports_[i].positions) {
        if (position.target == object_) LookAtPosition(node, position);
      }
    }
    return std::move(spots_);
  }

 private:
  void LookAtCopy(int node, const LocalObjectStatus& copy) {
    if (fault_.place == FaultPlace::kRelay && copy.pulls > 0) {
      Add(node, node, {object_}, /*read=*/true);
    }
    const int server = IndexOf(copy.server);
    if (fault_.place == FaultPlace::kHolder && server >= 0 &&
        Completed(server)) {
      Add(server, node, {object_});
    }
  }

  void LookAtPosition(int node, const PositionStatus& position) {
    const PullKey output{object_, position.position};
    if (fault_.place == FaultPlace::kRoot && position.root) {
      Add(node, node, output);
    }
    if (fault_.place != FaultPlace::kLeaf &&
        fault_.place != FaultPlace::kInner) {
      return;
    }
    for (const NodeRef input : position.inputs) {
      const int child = IndexOf(input);
      if (child < 0 || child == node) continue;
      if (fault_.place == FaultPlace::kLeaf ? IsLeaf(child) : IsInner(child)) {
        Add(child, node, output);
      }
    }
  }

  void Add(int victim, int watcher, const PullKey& stream, bool read = false) {
    const auto progress =
        ProgressOf(reports_[static_cast<std::size_t>(watcher)], stream);
    if (victim >= victims_ || !progress.has_value() ||
        progress->percent() > fault_.percent) {
      return;
    }
    spots_.push_back(
        {.victim = victim, .watcher = watcher, .stream = stream, .read = read});
  }

  int IndexOf(NodeRef node) const {
    const auto found = std::ranges::find(reports_, node, &NodeStatus::self);
    if (found == reports_.end()) return -1;
    return static_cast<int>(std::distance(reports_.begin(), found));
  }

  bool Completed(int node) const {
    const auto progress =
        ProgressOf(reports_[static_cast<std::size_t>(node)], {object_});
    return progress.has_value() && progress->bytes == progress->size;
  }

  const std::vector<PositionStatus>& PositionsOf(int node) const {
    return reports_[static_cast<std::size_t>(node)].positions;
  }
  bool IsInner(int node) const {
    return std::ranges::any_of(
        PositionsOf(node), [&](const PositionStatus& position) {
          return position.target == object_ && !position.inputs.empty();
        });
  }
  // Who has yet to be assigned its position is neither.
  bool IsLeaf(int node) const {
    return !IsInner(node) && std::ranges::find(PositionsOf(node), object_,
                                               &PositionStatus::target) !=
                                 PositionsOf(node).end();
  }

  const Fault& fault_;
  const ObjectId& object_;
  const std::vector<NodeStatus>& reports_;
  const int victims_;
  std::vector<FaultSpot> spots_;
};

}  // namespace

std::optional<FaultSpot> FindSpot(const Fault& fault, const ObjectId& object,
                                  const std::vector<NodeStatus>& reports,
                                  int victims, Random& random) {
  const std::vector<FaultSpot> spots =
      Finder(fault, object, reports, victims).Find();
  if (spots.empty()) return std::nullopt;
  return spots[random.Below(spots.size())];
}

std::optional<StreamProgress> ProgressOf(const NodeStatus& report,
                                         const PullKey& stream) {
  if (stream.is_output()) {
    for (const PositionStatus& position : report.positions) {
      if (position.target != stream.object ||
          position.position != stream.position) {
        continue;
      }
      return StreamProgress{.bytes = position.bytes, .size = position.size};
    }
    return std::nullopt;
  }
  for (const LocalObjectStatus& copy : report.objects) {
    if (copy.object != stream.object) continue;
    return StreamProgress{
        .bytes = copy.bytes, .size = copy.size, .readers = copy.pulls};
  }
  return std::nullopt;
}

}  // namespace hoplite::cli
