#include "hoplite/sim/script.h"

#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "hoplite/base/digest.h"

namespace hoplite::sim {

using Step = Script::Step;

Step Step::At(absl::Duration start) const {
  operation().start = start;
  return *this;
}
Step Step::After(Step earlier) const {
  operation().after.push_back(earlier.index());
  return *this;
}
Step Step::Within(absl::Duration timeout) const {
  operation().timeout = timeout;
  return *this;
}
Step Step::CancelAfter(absl::Duration delay) const {
  operation().cancel_after = delay;
  return MayFail();
}
Step Step::MayFail() const {
  operation().must_succeed = false;
  return *this;
}
Step Step::WritingFor(absl::Duration time) const {
  std::get<PutSpec>(operation().spec).writing_time = time;
  return *this;
}
Step Step::Abandons() const {
  std::get<PutSpec>(operation().spec).abandons = true;
  return MayFail();
}
Step Step::Streams() const {
  std::get<PutSpec>(operation().spec).streams = true;
  return *this;
}
Step Step::WithPayload() const {
  std::get<PutSpec>(operation().spec).with_payload = true;
  return *this;
}
Step Step::ReadingFor(absl::Duration time) const {
  std::get<GetSpec>(operation().spec).reading_time = time;
  return *this;
}

template <typename Spec>
Step Script::Add(const Spec& spec) {
  Operation operation;
  operation.spec = spec;
  operation.timeout = absl::Seconds(60);
  operation.must_succeed = true;
  workload_.push_back(std::move(operation));
  return Step(&workload_, workload_.size() - 1);
}

Step Script::Put(std::uint32_t node, absl::string_view object,
                 std::uint64_t size) {
  PutSpec spec;
  spec.node = NodeId(node);
  spec.object = IdFromName(object);
  spec.size = size;
  return Add(spec);
}

Step Script::Get(std::uint32_t node, absl::string_view object) {
  GetSpec spec;
  spec.node = NodeId(node);
  spec.object = IdFromName(object);
  return Add(spec);
}

Step Script::Delete(std::uint32_t node, absl::string_view object) {
  DeleteSpec spec;
  spec.node = NodeId(node);
  spec.object = IdFromName(object);
  return Add(spec);
}

Step Script::Reduce(std::uint32_t node, absl::string_view target,
                    const std::vector<std::string>& sources,
                    std::uint32_t count, ReduceOp op) {
  ReduceSpec spec;
  spec.node = NodeId(node);
  spec.target = IdFromName(target);
  for (const std::string& source : sources) {
    spec.sources.push_back(IdFromName(source));
  }
  spec.count = count;
  spec.op = op;
  return Add(spec);
}

std::vector<std::string> Names(absl::string_view stem, std::uint32_t count) {
  std::vector<std::string> names;
  for (std::uint32_t i = 1; i <= count; ++i) {
    names.push_back(absl::StrCat(stem, i));
  }
  return names;
}

}  // namespace hoplite::sim
