// A worker's run of one task.

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ray_integration/scheduler/sim/simulation.h"

namespace hoplite::task::sim {
namespace {

// The kinds of tasks, as SetUp has entered them.
constexpr std::uint32_t kPlain = 0;
constexpr std::uint32_t kGpu = 1;
constexpr std::uint32_t kWide = 2;
constexpr std::uint32_t kSpread = 3;
constexpr std::uint32_t kActor = 4;
constexpr std::uint32_t kHosts = 5;
// An actor lives for so many tasks' time.
constexpr std::uint64_t kActorLife = 5;

bool OneOf(Random& random, std::uint32_t count) {
  return count > 0 && random.Chance(1, count);
}

// What every attempt of a task does.
struct Plan {
  absl::Duration work;  // before the children, and again after them
  std::uint32_t children = 0;
};

Plan PlanOf(const Task& task, const SimulationOptions& options) {
  Random random(task.seed + 1);
  Plan plan;
  plan.work = options.work * random.Between(50, 150) / 200;
  // A task that keeps a gpu while it waits for others that need one may wait
  // for ever: so none has children.
  if (task.line == kActor) {
    plan.work *= kActorLife;
  } else if (task.line != kGpu && task.levels > 0 &&
             OneOf(random, options.parent_one_of)) {
    plan.children = options.children;
  }
  return plan;
}

}  // namespace

TaskIndex Simulation::MakeTask(const ProcessId& owner, std::uint32_t depth,
                               std::uint32_t levels, std::uint64_t seed) {
  Random random(seed);
  Task task{.owner = owner, .seed = seed, .depth = depth, .line = kPlain};
  task.levels = static_cast<std::uint8_t>(levels);
  if (OneOf(random, options_.gpu_task_one_of)) {
    task.line = kGpu;
  } else if (OneOf(random, options_.wide_task_one_of)) {
    task.line = kWide;
  } else if (OneOf(random, options_.spread_one_of)) {
    task.line = kSpread;
  } else if (OneOf(random, options_.actor_one_of)) {
    task.line = kActor;
  } else if (OneOf(random, options_.host_one_of)) {
    task.line =
        kHosts + static_cast<std::uint32_t>(random.Below(options_.nodes));
  }
  if (OneOf(random, options_.argument_one_of)) {
    task.argument =
        1 + static_cast<std::uint32_t>(random.Below(options_.objects));
  }
  tasks_.push_back(task);
  ++open_tasks_;
  return static_cast<TaskIndex>(tasks_.size() - 1);
}

// Does `then` after a while, unless the run is over by then.
void Simulation::After(const Process& worker, absl::Duration delay,
                       void (Simulation::*then)(Process&)) {
  agenda_.After(delay, [this, id = worker.id, runs = worker.runs, then] {
    Process* process = Find(id);
    if (process == nullptr || process->runs != runs) return;
    (this->*then)(*process);
  });
}

void Simulation::BeginRun(const ProcessId& id, const TaskRun& run) {
  Process* worker = Find(id);
  if (worker == nullptr) return;  // its owner is told
  if (worker->run || worker->lessee != LeaseId{run.owner, run.lease}) {
    Wrong("workers", absl::StrCat(ToString(id), " is sent task ", run.task,
                                  " of ", ToString(run.owner),
                                  " and is not leased to it, or busy"));
    return;
  }
  ++worker->runs;
  worker->run = run;
  trace_.OnStep(agenda_.now(), id.node, "run", run.task);
  if (tasks_[run.task].line == kActor) {
    NodeModel& node = *Find(id.node);
    Tell(node, scheduler_event::ArgumentsUsed{*worker->lessee});
  }
  After(*worker, PlanOf(tasks_[run.task], options_).work, &Simulation::Work);
}

// The first half is done.
void Simulation::Work(Process& worker) {
  const Plan plan = PlanOf(tasks_[worker.run->task], options_);
  if (plan.children > 0) return SubmitChildren(worker, plan.children);
  After(worker, plan.work, &Simulation::EndRun);
}

void Simulation::SubmitChildren(Process& worker, std::uint32_t count) {
  worker.run->open_children = count;
  worker.run->blocked = true;
  const Task parent = tasks_[worker.run->task];
  Random seeds(parent.seed + 2);
  for (std::uint32_t i = 0; i < count; ++i) {
    Submit(worker, MakeTask(worker.id, parent.depth + 1, parent.levels - 1u,
                            seeds.Next()));
  }
  const NodeRef here = worker.id.node;
  Send(here, here, [this, id = worker.id] {
    if (Find(id) == nullptr) return;
    Tell(*Find(id.node), scheduler_event::WorkerBlocked{id.worker});
  });
}

void Simulation::ChildEnded(Process& worker, bool ok) {
  if (!worker.run || worker.run->open_children == 0) return;
  if (!ok) worker.run->failed = true;
  if (--worker.run->open_children > 0) return;
  worker.run->blocked = false;
  const NodeRef here = worker.id.node;
  Send(here, here, [this, id = worker.id] {
    if (Find(id) == nullptr) return;
    Tell(*Find(id.node), scheduler_event::WorkerResumed{id.worker});
  });
  const Plan plan = PlanOf(tasks_[worker.run->task], options_);
  After(worker, plan.work, &Simulation::EndRun);
}

void Simulation::EndRun(Process& worker) {
  const TaskRun run = *worker.run;
  worker.run.reset();
  ++worker.runs;
  ReturnAll(worker);
  trace_.OnStep(agenda_.now(), worker.id.node, "answer", run.task);
  Send(worker.id.node, run.owner.node, [this, run] {
    if (Process* owner = Find(run.owner)) OnAnswer(*owner, run, !run.failed);
  });
}

}  // namespace hoplite::task::sim
