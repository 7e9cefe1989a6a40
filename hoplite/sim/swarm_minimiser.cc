#include "hoplite/sim/swarm_minimiser.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "hoplite/base/overloaded.h"

namespace hoplite::sim {
namespace {

// What is left out together or not at all.
struct Unit {
  std::set<std::size_t> faults;
  std::set<std::size_t> operations;
};

SwarmOptions Without(SwarmOptions options, const std::vector<Unit>& units,
                     std::size_t begin, std::size_t end) {
  for (std::size_t i = begin; i < end; ++i) {
    options.without_faults.insert(units[i].faults.begin(),
                                  units[i].faults.end());
    options.without_operations.insert(units[i].operations.begin(),
                                      units[i].operations.end());
  }
  return options;
}

std::vector<ObjectId> ObjectsOf(const Operation& operation) {
  return std::visit(Overloaded{[](const ReduceSpec& spec) {
                                 std::vector<ObjectId> all = spec.sources;
                                 all.push_back(spec.target);
                                 return all;
                               },
                               [](const auto& spec) {
                                 return std::vector<ObjectId>{spec.object};
                               }},
                    operation.spec);
}

// Operations on objects that have to do with each other.
std::vector<Unit> Groups(const Workload& workload) {
  std::map<ObjectId, std::size_t> group_of;
  std::vector<Unit> groups;
  for (std::size_t i = 0; i < workload.size(); ++i) {
    const std::vector<ObjectId> objects = ObjectsOf(workload[i]);
    const std::size_t mine = groups.size();
    groups.push_back({.faults = {}, .operations = {i}});
    for (const ObjectId& object : objects) {
      const auto [known, first] = group_of.emplace(object, mine);
      if (first || known->second == mine) continue;
      const std::size_t other = known->second;
      groups[mine].operations.merge(groups[other].operations);
      for (auto& [each, group] : group_of) {
        if (group == other) group = mine;
      }
    }
  }
  std::erase_if(groups,
                [](const Unit& group) { return group.operations.empty(); });
  return groups;
}

std::vector<Unit> UnitsOf(const SwarmOptions& options) {
  const SwarmDraw draw = DrawSwarm(options);
  std::vector<Unit> units;
  for (std::size_t i = 0; i < draw.faults.size(); ++i) {
    units.push_back({.faults = {i}, .operations = {}});
  }
  for (Unit& group : Groups(draw.workload)) units.push_back(std::move(group));
  for (std::size_t i = 0; i < draw.workload.size(); ++i) {
    if (!std::holds_alternative<GetSpec>(draw.workload[i].spec)) continue;
    units.push_back({.faults = {}, .operations = {i}});
  }
  return units;
}

// True where all of the unit is left out already.
bool IsOut(const SwarmOptions& options, const Unit& unit) {
  return std::ranges::includes(options.without_faults, unit.faults) &&
         std::ranges::includes(options.without_operations, unit.operations);
}

std::string Describe(const Operation& operation) {
  const auto line = [&](absl::string_view what, NodeId node,
                        const ObjectId& object) {
    return absl::StrCat(ToString(node), " ", what, " ",
                        object.ToHex().substr(0, 8), ", after ",
                        operation.after.size(), " others and ",
                        absl::FormatDuration(operation.start));
  };
  return std::visit(
      Overloaded{[&](const PutSpec& spec) {
                   return absl::StrCat(line("puts", spec.node, spec.object),
                                       ", ", spec.size, " bytes");
                 },
                 [&](const GetSpec& spec) {
                   return line("gets", spec.node, spec.object);
                 },
                 [&](const DeleteSpec& spec) {
                   return line("deletes", spec.node, spec.object);
                 },
                 [&](const ReduceSpec& spec) {
                   return absl::StrCat(line("makes", spec.node, spec.target),
                                       ", of ", spec.count, " of ",
                                       spec.sources.size());
                 }},
      operation.spec);
}

}  // namespace

SwarmOptions Minimise(SwarmOptions options,
                      const std::function<bool(const SwarmOptions&)>& fails) {
  for (bool smaller = true; smaller;) {
    smaller = false;
    std::vector<Unit> units = UnitsOf(options);
    std::erase_if(units,
                  [&](const Unit& unit) { return IsOut(options, unit); });
    for (std::size_t step = units.size(); step > 0; step /= 2) {
      for (std::size_t begin = 0; begin < units.size(); begin += step) {
        const std::size_t end = std::min(begin + step, units.size());
        SwarmOptions less = Without(options, units, begin, end);
        const bool is_less =
            less.without_faults != options.without_faults ||
            less.without_operations != options.without_operations;
        if (!is_less || !fails(less)) continue;
        options = std::move(less);
        smaller = true;
      }
    }
  }
  return options;
}

std::string DescribeRest(const SwarmOptions& options) {
  const SwarmDraw draw = DrawSwarm(options);
  std::string text;
  for (std::size_t i = 0; i < draw.faults.size(); ++i) {
    if (options.without_faults.contains(i)) continue;
    absl::StrAppend(&text, "fault ", i, ": ", Describe(draw.faults[i]), "\n");
  }
  for (std::size_t i = 0; i < draw.workload.size(); ++i) {
    if (options.without_operations.contains(i)) continue;
    absl::StrAppend(&text, "operation ", i, ": ", Describe(draw.workload[i]),
                    "\n");
  }
  return text;
}

}  // namespace hoplite::sim
