#include "hoplite/sim/fault_plan.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "hoplite/base/id_prefix.h"
#include "hoplite/core/node_status.h"

namespace hoplite::sim {
namespace {

// When all is healed a run goes on for so long: what nodes have to find out
// takes a dead-limit, and the pauses between their attempts.
constexpr absl::Duration kUntilSettled = absl::Seconds(10);
constexpr absl::Duration kAwayMax = absl::Seconds(2);
constexpr absl::Duration kDetectedMax = absl::Milliseconds(100);
constexpr absl::Duration kOutageMax = absl::Milliseconds(200);
constexpr absl::Duration kLateMax = absl::Seconds(1);
// Events of one node while its clients work: few go beyond.
constexpr std::uint64_t kEventBitsMax = 10;
constexpr std::uint64_t kCommandsMax = 8;
// What concerns members needs a head and two more.
constexpr std::uint32_t kMembersMin = 3;

// Draws what the faults of a run have in common.
struct Draw {
  const FaultOptions& options;
  std::uint32_t node_count;
  Random& random;

  absl::Duration UpTo(absl::Duration longest) {
    const auto most =
        static_cast<std::uint64_t>(absl::ToInt64Nanoseconds(longest));
    return absl::Nanoseconds(static_cast<std::int64_t>(random.Below(most + 1)));
  }
  absl::Time Moment() { return absl::UnixEpoch() + UpTo(options.within); }
  NodeId Node(std::uint32_t first = 1) {
    return NodeId(
        static_cast<std::uint32_t>(random.Between(first, node_count)));
  }
  NodeId Member() { return Node(2); }
};

// Braces are drawn from left to right.
Fault DrawBrokenStream(Draw& draw) {
  return fault::BrokenStream{draw.Moment(), draw.random.Next()};
}
Fault DrawSlowNode(Draw& draw) {
  return fault::SlowNode{draw.Node(), draw.random.Between(2, kSlowTimesMax)};
}
Fault DrawCrash(Draw& draw) {
  return fault::Crash{draw.Moment(), draw.Member(), draw.UpTo(kDetectedMax)};
}
Fault DrawBrokenControl(Draw& draw) {
  return fault::BrokenControl{draw.Moment(), draw.Node(), draw.Node(),
                              draw.UpTo(kOutageMax), absl::ZeroDuration()};
}
Fault DrawLateNews(Draw& draw) {
  const absl::Time at = draw.Moment();
  return fault::LateNews{at, draw.Member(), at + draw.UpTo(kLateMax)};
}
Fault DrawHeadCrash(Draw& draw) {
  return fault::HeadCrash{draw.Moment(), draw.UpTo(kAwayMax)};
}
Fault DrawStoppedNode(Draw& draw) {
  return fault::StoppedNode{draw.Moment(), draw.Node(),
                            draw.UpTo(draw.options.longest)};
}
Fault DrawCutWay(Draw& draw) {
  return fault::CutWay{draw.Moment(), draw.Node(), draw.Node(),
                       draw.UpTo(draw.options.longest)};
}
Fault DrawSuspicion(Draw& draw) {
  return fault::Suspicion{draw.Moment(), draw.Member()};
}
Fault DrawCrashAtEvent(Draw& draw) {
  // Early events as often as late ones.
  const std::uint64_t most = 1u << draw.random.Below(kEventBitsMax + 1);
  return fault::CrashAtEvent{absl::UnixEpoch() + draw.options.within,
                             draw.Member(), draw.random.Between(1, most),
                             draw.random.Below(kCommandsMax + 1),
                             draw.UpTo(kDetectedMax)};
}
Fault DrawRestart(Draw& draw) {
  const absl::Duration most =
      draw.random.Chance(1, 2) ? absl::ZeroDuration() : kAwayMax;
  return fault::Restart{draw.Moment(), draw.Member(), draw.UpTo(kDetectedMax),
                        draw.UpTo(most)};
}
Fault DrawLateLoss(Draw& draw) {
  return fault::BrokenControl{draw.Moment(), draw.Node(), draw.Node(),
                              draw.UpTo(kOutageMax), draw.UpTo(kOutageMax)};
}

Fault DrawEndedPrefix(Draw& draw) {
  return fault::EndedPrefix{draw.Moment(), draw.random.Next()};
}

struct Kind {
  absl::string_view name;
  std::uint32_t FaultOptions::*count;
  bool concerns_members;
  Fault (*draw)(Draw&);
};
// A kind that is added stands last: it moves no draw of the others.
constexpr Kind kKinds[] = {
    {"broken_streams", &FaultOptions::broken_streams, false, DrawBrokenStream},
    {"slow_nodes", &FaultOptions::slow_nodes, false, DrawSlowNode},
    {"crashes", &FaultOptions::crashes, true, DrawCrash},
    {"broken_control", &FaultOptions::broken_control, true, DrawBrokenControl},
    {"late_news", &FaultOptions::late_news, true, DrawLateNews},
    {"head_crashes", &FaultOptions::head_crashes, true, DrawHeadCrash},
    {"stopped_nodes", &FaultOptions::stopped_nodes, true, DrawStoppedNode},
    {"cut_ways", &FaultOptions::cut_ways, true, DrawCutWay},
    {"suspicions", &FaultOptions::suspicions, true, DrawSuspicion},
    {"crashes_at_events", &FaultOptions::crashes_at_events, true,
     DrawCrashAtEvent},
    {"restarts", &FaultOptions::restarts, true, DrawRestart},
    {"late_losses", &FaultOptions::late_losses, true, DrawLateLoss},
    {"ended_prefixes", &FaultOptions::ended_prefixes, false, DrawEndedPrefix},
};

// A fault as it happens.
struct Happening {
  absl::Time time;
  absl::Duration lasts;
  std::string text;
  std::function<void(Simulation&)> action;
};

std::string Name(NodeId node) { return ToString(node); }
std::string Text(absl::Duration duration) {
  return absl::FormatDuration(duration);
}

Happening Of(const fault::BrokenStream& broken) {
  return {broken.time, absl::ZeroDuration(), "a stream of bytes breaks",
          [which = broken.which](Simulation& simulation) {
            const std::uint64_t count = simulation.data_plane().served_count();
            if (count > 0) simulation.data_plane().Break(which % count);
          }};
}

Happening Of(const fault::SlowNode& slow) {
  return {absl::UnixEpoch(), absl::ZeroDuration(),
          absl::StrCat(Name(slow.node), " is ", slow.times, " times slower"),
          [slow](Simulation& simulation) {
            const std::uint64_t rate =
                simulation.options().network.bytes_per_second / slow.times;
            simulation.data_plane().network().SetRate(
                slow.node, std::max<std::uint64_t>(rate, 1));
          }};
}

Happening Of(const fault::Crash& crash) {
  return {crash.time, crash.detected,
          absl::StrCat(Name(crash.node), " dies, detected after ",
                       Text(crash.detected)),
          [crash](Simulation& simulation) {
            simulation.Crash(crash.node, crash.detected);
          }};
}

Happening Of(const fault::CrashAtEvent& crash) {
  return {absl::UnixEpoch(), crash.until - absl::UnixEpoch() + crash.detected,
          absl::StrCat(Name(crash.node), " dies at its event ", crash.event,
                       " and command ", crash.commands, " of that",
                       ", detected after ", Text(crash.detected)),
          [crash](Simulation& simulation) { simulation.CrashAtEvent(crash); }};
}

Happening Of(const fault::Restart& restart) {
  return {restart.time, std::max(restart.detected, restart.away),
          absl::StrCat(Name(restart.node), " dies, detected after ",
                       Text(restart.detected), ", and is started again after ",
                       Text(restart.away)),
          [restart](Simulation& simulation) {
            simulation.Restart(restart.node, restart.detected, restart.away);
          }};
}

Happening Of(const fault::BrokenControl& broken) {
  return {broken.time, std::max(broken.outage, broken.noticed),
          absl::StrCat("the control streams of ", Name(broken.a), " and ",
                       Name(broken.b), " break for ", Text(broken.outage),
                       ", noticed by the latter after ", Text(broken.noticed)),
          [broken](Simulation& simulation) {
            simulation.BreakControl(broken.a, broken.b, broken.outage,
                                    broken.noticed);
          }};
}

Happening Of(const fault::LateNews& late) {
  return {late.time, late.until - late.time,
          absl::StrCat(Name(late.node), " hears of its head only after ",
                       Text(late.until - late.time)),
          [late](Simulation& simulation) {
            simulation.DelayNews(late.node, late.until);
          }};
}

Happening Of(const fault::HeadCrash& crash) {
  return {crash.time, crash.away,
          absl::StrCat("the head dies and is started after ", Text(crash.away)),
          [crash](Simulation& simulation) {
            simulation.Crash(kHeadNode);
            simulation.agenda().After(
                crash.away, [&simulation] { simulation.RestartHead(); });
          }};
}

Happening Of(const fault::StoppedNode& stopped) {
  return {stopped.time, stopped.duration,
          absl::StrCat(Name(stopped.node), " stands still for ",
                       Text(stopped.duration)),
          [stopped](Simulation& simulation) {
            simulation.Stop(stopped.node, stopped.duration);
          }};
}

Happening Of(const fault::CutWay& cut) {
  return {cut.time, cut.duration,
          absl::StrCat("nothing comes from ", Name(cut.from), " to ",
                       Name(cut.to), " for ", Text(cut.duration)),
          [cut](Simulation& simulation) {
            simulation.Cut(cut.from, cut.to, cut.duration);
          }};
}

Happening Of(const fault::Suspicion& suspicion) {
  return {suspicion.time, absl::ZeroDuration(),
          absl::StrCat("the head takes ", Name(suspicion.node), " for dead"),
          [suspicion](Simulation& simulation) {
            simulation.Suspect(suspicion.node);
          }};
}

Happening Of(const fault::EndedPrefix& ended) {
  return {ended.time, absl::ZeroDuration(), "the prefix of an id ends",
          [which = ended.which](Simulation& simulation) {
            std::set<ObjectId> objects;
            for (NodeRef node : simulation.nodes()) {
              const NodeStatus status = simulation.machine(node.node).Status();
              for (const LocalObjectStatus& object : status.objects) {
                objects.insert(object.object);
              }
            }
            if (objects.empty()) return;
            const auto ends =
                std::next(objects.begin(), which % objects.size());
            simulation.EndPrefix(IdPrefix::Of(*ends));
          }};
}

Happening HappeningOf(const Fault& fault) {
  return std::visit([](const auto& each) { return Of(each); }, fault);
}

}  // namespace

std::string Describe(const FaultOptions& options) {
  std::string text;
  for (const Kind& kind : kKinds) {
    absl::StrAppend(&text, kind.name, "=", options.*kind.count, " ");
  }
  return absl::StrCat(text, "longest=", Text(options.longest));
}

std::string Describe(const Fault& fault) {
  const Happening happening = HappeningOf(fault);
  return absl::StrCat("at ", Text(happening.time - absl::UnixEpoch()), " ",
                      happening.text);
}

absl::Duration OverAfter(const FaultOptions& options) {
  const absl::Duration longest = std::max(
      {kDetectedMax, kOutageMax, kLateMax, kAwayMax,
       options.stopped_nodes + options.cut_ways > 0 ? options.longest
                                                    : absl::ZeroDuration()});
  return options.within + longest + kUntilSettled;
}

FaultPlan DrawFaultPlan(const FaultOptions& options, std::uint32_t node_count,
                        Random& random) {
  FaultPlan plan;
  Draw draw{options, node_count, random};
  for (const Kind& kind : kKinds) {
    if (kind.concerns_members && node_count < kMembersMin) continue;
    for (std::uint32_t i = 0; i < options.*kind.count; ++i) {
      plan.push_back(kind.draw(draw));
    }
  }
  return plan;
}

void Apply(const FaultPlan& plan, Simulation* simulation) {
  for (const Fault& fault : plan) {
    Happening happening = HappeningOf(fault);
    const absl::Time over = happening.time + happening.lasts;
    if (happening.time == absl::UnixEpoch()) {
      happening.action(*simulation);
    } else {
      simulation->agenda().At(
          happening.time, [simulation, action = std::move(happening.action)] {
            action(*simulation);
          });
    }
    // The run lasts until it has settled.
    simulation->agenda().At(over + kUntilSettled, [] {});
  }
}

}  // namespace hoplite::sim
