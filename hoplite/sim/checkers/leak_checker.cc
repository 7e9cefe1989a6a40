#include "hoplite/sim/checkers/leak_checker.h"

#include <variant>

#include "absl/strings/str_cat.h"

namespace hoplite::sim {

void LeakChecker::Add(absl::Time now, NodeRef node, absl::string_view what) {
  violations_->Add(kName, now, absl::StrCat(ToString(node.node), " ", what));
}

bool LeakChecker::MustStay(ContentId content) const {
  // Results may be copies of partial ones; Puts are what is only once.
  const ContentTable& contents = simulation_->contents();
  if (!contents.IsPut(content)) return false;
  const PutContent& put = contents.put(content);
  const RequestRecord* const record =
      history_->Find(RequestKey{put.node, put.request});
  // A small object stands in its record as well.
  return record != nullptr && !record->inlined &&
         record->answered.has_value() &&
         record->code == absl::StatusCode::kOk &&
         !history_->DeleteAsked(put.object);
}

bool LeakChecker::HeldElsewhere(NodeRef node, BufferId buffer,
                                ContentId content) const {
  for (NodeRef other : simulation_->nodes()) {
    for (const auto& [id, model] :
         simulation_->store_of(other.node).buffers()) {
      const bool same = other == node && id == buffer;
      if (same || !model.machine_holds || !model.complete()) continue;
      if (model.size > 0 && model.content.At(0) == content) return true;
    }
  }
  return false;
}

void LeakChecker::OnCommand(absl::Time now, NodeRef node,
                            const Command& command) {
  const auto* release = std::get_if<command::ReleaseBuffer>(&command);
  if (release == nullptr) return;
  const BufferModel* const buffer =
      simulation_->store_of(node.node).Find(release->buffer);
  if (buffer == nullptr || !buffer->complete() || buffer->size == 0) return;
  if (crashes_) return;  // the last one may be that only since then
  const ContentId content = buffer->content.At(0);
  if (MustStay(content) && !HeldElsewhere(node, release->buffer, content)) {
    Add(now, node,
        absl::StrCat("gives up the last copy of ",
                     simulation_->contents().Describe(content)));
  }
}

void LeakChecker::CheckNode(absl::Time now, NodeRef node) {
  const NodeStatus status = simulation_->machine(node.node).Status();
  if (status.requests_waiting > 0) Add(now, node, "has requests that wait");
  if (status.transfers_under_way > 0) Add(now, node, "has transfers under way");
  if (status.reductions_under_way > 0) {
    Add(now, node, "has reductions under way");
  }
  for (const LocalObjectStatus& object : status.objects) {
    const bool quiet =
        object.state == "complete" && object.gets + object.pulls == 0;
    if (quiet && !expect_empty_) continue;
    Add(now, node,
        absl::StrCat("is left with object ", object.object.ToHex().substr(0, 8),
                     " ", object.state));
  }
  std::size_t held = 0;
  for (const auto& [id, buffer] : simulation_->store_of(node.node).buffers()) {
    if (buffer.machine_holds) ++held;
    if (buffer.clients + buffer.orders > 0) {
      Add(now, node, absl::StrCat("has buffer ", id.value(), " in use"));
    }
    if (buffer.machine_holds && !buffer.complete()) {
      Add(now, node,
          absl::StrCat("keeps buffer ", id.value(), " at ", buffer.watermark(),
                       " of ", buffer.size));
    }
  }
  // A result of one source may share that source's buffer.
  if (held > status.objects.size() || held != status.buffers_held) {
    Add(now, node,
        absl::StrCat("holds ", held, " buffers, and knows of ",
                     status.buffers_held, " and of ", status.objects.size(),
                     " objects"));
  }
  if (expect_empty_ && held > 0) {
    Add(now, node,
        absl::StrCat("holds ", held, " buffers after all was deleted"));
  }
}

void LeakChecker::OnEnd(absl::Time now) {
  if (simulation_->gave_up()) {
    violations_->Add(kName, now, "the run makes no progress");
  }
  for (NodeRef node : simulation_->nodes()) CheckNode(now, node);
  const DataPlaneLoad load = simulation_->data_plane().Load();
  if (load.flows + load.folds > 0) {
    violations_->Add(kName, now,
                     absl::StrCat(load.flows, " flows and ", load.folds,
                                  " folds are under way at the end"));
  }
}

}  // namespace hoplite::sim
