#include "hoplite/sim/workload_draw.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "hoplite/base/check.h"
#include "hoplite/base/overloaded.h"

namespace hoplite::sim {
namespace {

// A small Put whose call has ended early may be on its way for so long: what is
// deleted before it comes is there afterwards.
constexpr absl::Duration kUnderWay = absl::Seconds(1);
constexpr std::uint64_t kElementBytes = 8;  // of the largest type

// True where the operation makes or reads the object.
bool Names(const Operation& operation, const ObjectId& object) {
  return std::visit(
      Overloaded{[&](const ReduceSpec& spec) { return spec.target == object; },
                 [&](const auto& spec) { return spec.object == object; }},
      operation.spec);
}

// Draws one workload, collective by collective.
class Drawing {
 public:
  Drawing(const WorkloadOptions& options, Random& random)
      : options_(options), random_(random) {}

  Workload Draw() {
    for (std::uint32_t i = 0; i < options_.collectives; ++i) Collective();
    // What may never end must not be left.
    Delete(options_.delete_all ? objects_ : endless_);
    return std::move(workload_);
  }

 private:
  // An object that is to be; `sure` where nothing keeps it from being whole.
  struct Made {
    ObjectId object;
    bool sure = true;
    bool deleted = false;
  };

  NodeId AnyNode() {
    return NodeId(static_cast<std::uint32_t>(
        random_.Between(options_.first_node, options_.node_count)));
  }
  absl::Duration AnyStart() {
    const std::int64_t span = absl::ToInt64Nanoseconds(options_.stagger);
    return absl::Nanoseconds(static_cast<std::int64_t>(
        random_.Below(static_cast<std::uint64_t>(span) + 1)));
  }
  bool Feature(bool on, std::uint64_t one_in) {
    return on && random_.Chance(1, one_in);
  }
  ObjectId NewObject() {
    ObjectId::Bytes bytes{};
    for (std::uint8_t& byte : bytes) {
      byte = static_cast<std::uint8_t>(random_.Next());
    }
    objects_.emplace_back(bytes);
    return objects_.back();
  }
  std::uint64_t AnySize();
  std::size_t Add(Operation operation);

  Made Put(NodeId node, std::uint64_t size);
  void Get(NodeId node, const Made& made);
  Made Reduce(const std::vector<Made>& sources, std::uint32_t count);
  std::vector<Made> Sources(std::uint32_t count, std::uint64_t size);
  void Disturb(Made& made);

  void Collective();
  void Broadcast();
  void Gather();
  void ReduceAndGet();
  void OddRequest();
  void Missing();
  void Delete(const std::vector<ObjectId>& objects);

  const WorkloadOptions& options_;
  Random& random_;
  Workload workload_;
  std::vector<ObjectId> objects_;
  std::vector<ObjectId> endless_;  // targets that may wait for ever
};

std::uint64_t Drawing::AnySize() {
  constexpr std::uint64_t kSmall = 64 << 10;
  const bool small =
      options_.small && (!options_.large || random_.Chance(1, 3));
  std::uint64_t size = 0;
  if (!small) {
    size = random_.Between(1, options_.size_max);
  } else if (random_.Chance(1, 4)) {
    constexpr std::uint64_t kEdges[] = {0, 8, kSmall - 8, kSmall, kSmall + 8};
    size = kEdges[random_.Below(std::size(kEdges))];
  } else {
    size = random_.Below(std::min(kSmall, options_.size_max));
  }
  return size / kElementBytes * kElementBytes;
}

std::size_t Drawing::Add(Operation operation) {
  if (operation.timeout == absl::InfiniteDuration()) {
    operation.timeout = kDrawnTimeout;
  }
  if (Feature(options_.short_deadlines, 6)) {
    operation.timeout = AnyStart();
    operation.must_succeed = false;
  }
  if (Feature(options_.cancels, 6)) {
    operation.cancel_after = AnyStart();
    operation.must_succeed = false;
  }
  if (!options_.promises) operation.must_succeed = false;
  workload_.push_back(std::move(operation));
  return workload_.size() - 1;
}

Drawing::Made Drawing::Put(NodeId node, std::uint64_t size) {
  constexpr std::uint64_t kPayloadMax = 64 << 10;
  Made made{NewObject()};
  PutSpec spec;
  spec.node = node;
  spec.object = made.object;
  spec.size = size;
  spec.with_payload =
      options_.payloads && size <= kPayloadMax && random_.Chance(2, 3);
  spec.streams = Feature(options_.streaming, 2);
  if (Feature(options_.slow_writers, 3)) spec.writing_time = AnyStart();
  spec.abandons = !spec.with_payload && Feature(options_.abandoned_puts, 5);
  Operation operation;
  operation.spec = spec;
  operation.start = AnyStart();
  operation.must_succeed = !spec.abandons;
  const std::size_t first = Add(operation);
  made.sure = workload_[first].must_succeed;
  if (Feature(options_.second_puts, 4)) {
    // It may come first, or after one that was given up.
    spec.node = AnyNode();
    spec.abandons = false;
    operation.spec = spec;
    operation.start = AnyStart();
    operation.must_succeed = true;
    const std::size_t second = Add(operation);
    // Either will do; which one succeeds is not known. A reduction may have
    // read from one that streams and is then given up.
    made.sure = made.sure || (workload_[second].must_succeed && !spec.streams);
    workload_[first].must_succeed = false;
    workload_[second].must_succeed = false;
  }
  return made;
}

void Drawing::Get(NodeId node, const Made& made) {
  GetSpec spec;
  spec.node = node;
  spec.object = made.object;
  if (random_.Chance(1, 4)) spec.reading_time = AnyStart();
  Operation operation;
  operation.spec = spec;
  operation.start = AnyStart();
  operation.must_succeed = made.sure && !made.deleted;
  Add(std::move(operation));
}

// Some objects are deleted while others read them.
void Drawing::Disturb(Made& made) {
  if (!Feature(options_.deletes, 4)) return;
  made.deleted = true;
  // It may be gone before it is made.
  for (Operation& operation : workload_) {
    if (Names(operation, made.object)) operation.must_succeed = false;
  }
  Operation operation;
  DeleteSpec spec;
  spec.node = AnyNode();
  spec.object = made.object;
  operation.spec = spec;
  operation.start = AnyStart();
  Add(std::move(operation));
}

void Drawing::Broadcast() {
  Made made = Put(AnyNode(), AnySize());
  Disturb(made);
  // Several Gets of one node too.
  const std::uint64_t gets = random_.Between(1, options_.node_count + 1);
  const bool everyone = random_.Chance(1, 2);
  if (everyone) {
    for (std::uint32_t i = options_.first_node; i <= options_.node_count; ++i) {
      Get(NodeId(i), made);
    }
  } else {
    for (std::uint64_t i = 0; i < gets; ++i) Get(AnyNode(), made);
  }
}

void Drawing::Gather() {
  std::vector<Made> parts;
  const std::uint64_t count = random_.Between(1, options_.node_count);
  const std::uint64_t size = AnySize();
  for (std::uint64_t i = 0; i < count; ++i) {
    parts.push_back(Put(AnyNode(), random_.Chance(1, 2) ? size : AnySize()));
    Disturb(parts.back());
  }
  const bool all = random_.Chance(1, 3);
  const NodeId one = AnyNode();
  for (std::uint32_t i = options_.first_node; i <= options_.node_count; ++i) {
    if (!all && NodeId(i) != one) continue;
    for (const Made& part : parts) Get(NodeId(i), part);
  }
}

std::vector<Drawing::Made> Drawing::Sources(std::uint32_t count,
                                            std::uint64_t size) {
  std::vector<Made> sources;
  for (std::uint32_t i = 0; i < count; ++i) {
    sources.push_back(Put(AnyNode(), size));
    Disturb(sources.back());
  }
  return sources;
}

Drawing::Made Drawing::Reduce(const std::vector<Made>& sources,
                              std::uint32_t count) {
  constexpr ReduceOp kOps[] = {ReduceOp::kSum, ReduceOp::kMax,
                               ReduceOp::kAverage};
  Made made{NewObject()};
  ReduceSpec spec;
  spec.node = AnyNode();
  spec.target = made.object;
  for (const Made& source : sources) spec.sources.push_back(source.object);
  random_.Shuffle(spec.sources);
  spec.count = count;
  spec.op = kOps[random_.Below(std::size(kOps))];
  const auto sure = std::count_if(
      sources.begin(), sources.end(),
      [](const Made& source) { return source.sure && !source.deleted; });
  // A source that fails after it went in may take the reduction with it.
  made.sure = static_cast<std::size_t>(sure) == sources.size();
  Operation operation;
  operation.spec = spec;
  operation.start = AnyStart();
  operation.must_succeed = made.sure;
  const std::size_t index = Add(operation);
  made.sure = workload_[index].must_succeed;
  endless_.push_back(made.object);
  if (random_.Chance(1, 8)) {
    // Somebody else asks the same.
    spec.node = AnyNode();
    operation.spec = spec;
    operation.start = AnyStart();
    operation.must_succeed = made.sure;
    Add(std::move(operation));
  }
  return made;
}

void Drawing::ReduceAndGet() {
  const auto count = static_cast<std::uint32_t>(
      random_.Between(1, 2 * std::uint64_t{options_.node_count}));
  const std::uint64_t size = AnySize();
  std::vector<Made> sources = Sources(count, size);
  const auto wanted = static_cast<std::uint32_t>(
      random_.Chance(1, 2) ? count : random_.Between(1, count));
  Made target = Reduce(sources, wanted);
  if (Feature(options_.nested, 2)) {
    std::vector<Made> outer =
        Sources(static_cast<std::uint32_t>(random_.Between(1, 3)), size);
    outer.push_back(target);
    Get(AnyNode(), target);
    target = Reduce(outer, static_cast<std::uint32_t>(outer.size()));
  }
  Disturb(target);
  if (random_.Chance(1, 2)) {
    for (std::uint32_t i = options_.first_node; i <= options_.node_count; ++i) {
      Get(NodeId(i), target);
    }
  } else {
    Get(AnyNode(), target);
  }
}

void Drawing::OddRequest() {
  std::vector<Made> sources = Sources(2, AnySize());
  sources.push_back(Put(AnyNode(), AnySize()));
  constexpr std::uint32_t kCounts[] = {0, 1, 3, 4};
  Made target = Reduce(sources, kCounts[random_.Below(std::size(kCounts))]);
  for (std::size_t i = 0; i < workload_.size(); ++i) {
    const auto* reduce = std::get_if<ReduceSpec>(&workload_[i].spec);
    if (reduce == nullptr || reduce->target != target.object) continue;
    workload_[i].must_succeed = false;
    workload_[i].timeout = std::min(workload_[i].timeout, absl::Seconds(1));
  }
  target.sure = false;
  Get(AnyNode(), target);
}

void Drawing::Missing() {
  Operation operation;
  GetSpec spec;
  spec.node = AnyNode();
  spec.object = NewObject();
  operation.spec = spec;
  operation.start = AnyStart();
  operation.timeout = absl::Milliseconds(50);
  Add(std::move(operation));
}

void Drawing::Collective() {
  std::vector<void (Drawing::*)()> kinds;
  if (options_.broadcasts) kinds.push_back(&Drawing::Broadcast);
  if (options_.gathers) kinds.push_back(&Drawing::Gather);
  if (options_.reduces) kinds.push_back(&Drawing::ReduceAndGet);
  if (options_.reduces && options_.odd_requests) {
    kinds.push_back(&Drawing::OddRequest);
  }
  if (options_.missing) kinds.push_back(&Drawing::Missing);
  if (kinds.empty()) kinds.push_back(&Drawing::Broadcast);
  (this->*kinds[random_.Below(kinds.size())])();
}

// At the end of the workload.
void Drawing::Delete(const std::vector<ObjectId>& objects) {
  std::vector<std::size_t> before(workload_.size());
  for (std::size_t i = 0; i < before.size(); ++i) before[i] = i;
  for (const ObjectId& object : objects) {
    Operation operation;
    DeleteSpec spec;
    spec.node = AnyNode();
    spec.object = object;
    operation.spec = spec;
    operation.after = before;
    operation.start = kUnderWay;
    operation.timeout = kDrawnTimeout;
    workload_.push_back(std::move(operation));
  }
}

}  // namespace

std::string Describe(const WorkloadOptions& options) {
  std::string text = absl::StrCat(
      "nodes=", options.node_count, " collectives=", options.collectives,
      " size_max=", options.size_max,
      " stagger=", absl::FormatDuration(options.stagger));
  const std::pair<absl::string_view, bool> features[] = {
      {"broadcasts", options.broadcasts},
      {"gathers", options.gathers},
      {"reduces", options.reduces},
      {"nested", options.nested},
      {"small", options.small},
      {"large", options.large},
      {"payloads", options.payloads},
      {"streaming", options.streaming},
      {"slow_writers", options.slow_writers},
      {"second_puts", options.second_puts},
      {"abandoned_puts", options.abandoned_puts},
      {"missing", options.missing},
      {"cancels", options.cancels},
      {"short_deadlines", options.short_deadlines},
      {"deletes", options.deletes},
      {"odd_requests", options.odd_requests},
      {"delete_all", options.delete_all},
      {"promises", options.promises},
  };
  for (const auto& [name, on] : features) {
    absl::StrAppend(&text, on ? " +" : " -", name);
  }
  return text;
}

Workload DrawWorkload(const WorkloadOptions& options, Random& random) {
  HOPLITE_CHECK(options.node_count > 0);
  HOPLITE_CHECK(options.size_max > 0);
  return Drawing(options, random).Draw();
}

}  // namespace hoplite::sim
