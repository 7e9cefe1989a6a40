// The folds of the simulated data plane.

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "hoplite/base/check.h"
#include "hoplite/sim/data_plane_model.h"

namespace hoplite::sim {

void DataPlaneModel::StartFold(NodeRef node, const command::StartFold& order) {
  StoreModel& store = host_->store(node.node);
  const std::string name = absl::StrCat("fold ", order.fold.value());
  if (fold_ids_.contains({node.node, order.fold})) {
    host_->Complain(node.node, name + " is started twice");
    return;
  }
  if (order.output == order.own && !order.inputs.empty()) {
    host_->Complain(node.node, name + " writes over what it reads");
    return;
  }
  std::vector<BufferId> buffers = {order.output, order.own};
  for (const command::FoldInput& input : order.inputs) {
    if (input.local) {
      buffers.push_back(input.local);
    } else if (input.member.node == node.node) {
      host_->Complain(node.node, name + " pulls from its own node");
      return;
    }
  }
  for (BufferId buffer : buffers) {
    const BufferModel* model = store.Find(buffer);
    if (model == nullptr || !model->machine_holds ||
        model->size != order.size) {
      host_->Complain(node.node,
                      absl::StrCat(name, " names buffer ", buffer.value(),
                                   ", which does not fit it"));
      return;
    }
  }
  const auto index = static_cast<std::uint32_t>(folds_.size());
  fold_ids_[{node.node, order.fold}] = index;
  FoldState fold;
  fold.node = node;
  fold.order = order;
  fold.frame_bytes =
      std::max<std::uint64_t>({order.frame_bytes, options_.frame_bytes_min, 1});
  fold.folded = store.Find(order.output)->watermark();
  folds_.push_back(std::move(fold));
  for (BufferId buffer : buffers) {
    store.Hold(buffer, StoreModel::Holder::kOrder);
    const bool written = buffer == order.output && buffer != order.own;
    if (!written) followers_[{node.node, buffer}].folds.insert(index);
  }
  OpenInputs(index);
  host_->agenda().After(absl::ZeroDuration(),
                        [this, index] { AdvanceFold(index); });
}

void DataPlaneModel::OpenInputs(std::uint32_t index) {
  const command::StartFold& order = folds_[index].order;
  for (std::uint32_t i = 0; i < order.inputs.size(); ++i) {
    const command::FoldInput& input = order.inputs[i];
    folds_[index].landed.emplace_back(folds_[index].folded);
    folds_[index].flows.emplace_back();
    if (input.local) continue;
    Flow opened;
    opened.receiver = folds_[index].node;
    opened.server = input.member;
    opened.key = PullKey{order.target, input.position};
    opened.generation = input.generation;
    opened.begin = folds_[index].folded;
    opened.size = order.size;
    opened.frame_bytes = order.frame_bytes;
    opened.for_fold = true;
    opened.fold = index;
    opened.input = i;
    folds_[index].flows[i] = Open(std::move(opened));
  }
}

std::optional<std::uint64_t> DataPlaneModel::NextFoldEnd(
    const FoldState& fold) {
  const StoreModel& store = host_->store(fold.node.node);
  const command::StartFold& order = fold.order;
  const std::uint64_t end =
      std::min(fold.folded + fold.frame_bytes, order.size);
  if (end == fold.folded) return std::nullopt;
  if (store.Find(order.own)->watermark() < end) return std::nullopt;
  for (std::size_t i = 0; i < order.inputs.size(); ++i) {
    const BufferId local = order.inputs[i].local;
    const std::uint64_t here =
        local ? store.Find(local)->watermark() : fold.landed[i].end();
    if (here < end) return std::nullopt;
  }
  return end;
}

Segments DataPlaneModel::FoldRange(const FoldState& fold, ByteRange range) {
  const StoreModel& store = host_->store(fold.node.node);
  const command::StartFold& order = fold.order;
  std::vector<const Segments*> inputs = {&store.Find(order.own)->content};
  for (std::size_t i = 0; i < order.inputs.size(); ++i) {
    const BufferId local = order.inputs[i].local;
    inputs.push_back(local ? &store.Find(local)->content : &fold.landed[i]);
  }
  const FoldRule rule{order.target, order.op, order.type};
  Segments result(range.begin);
  std::vector<ContentId> contents(inputs.size());
  while (result.end() < range.end) {
    const std::uint64_t at = result.end();
    std::uint64_t end = range.end;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      contents[i] = inputs[i]->At(at);
      end = std::min(end, inputs[i]->PieceEnd(at));
    }
    result.Append(end, host_->contents().Fold(rule, order.divisor, contents));
  }
  return result;
}

void DataPlaneModel::AdvanceFold(std::uint32_t index) {
  FoldState& fold = folds_[index];
  if (fold.ended) return;
  const NodeId node = fold.node.node;
  const std::uint64_t before = fold.folded;
  if (fold.order.output == fold.order.own) {
    // A result of one source is that source, in its own buffer.
    if (host_->store(node).Find(fold.order.own)->complete()) {
      EndFold(index, event::FoldDone{fold.order.fold});
    }
    return;
  }
  if (host_->store(node).Find(fold.order.output)->watermark() != before) {
    host_->Complain(node, absl::StrCat("has two orders that write buffer ",
                                       fold.order.output.value()));
    FoldInputFailed(index, fold.node);
    return;
  }
  while (const std::optional<std::uint64_t> end = NextFoldEnd(fold)) {
    const ByteRange range{fold.folded, *end};
    host_->store(node).Append(fold.order.output, FoldRange(fold, range));
    fold.folded = range.end;
    for (std::size_t i = 0; i < fold.flows.size(); ++i) {
      if (!fold.flows[i]) continue;
      // What is folded need not be kept.
      fold.landed[i] =
          fold.landed[i].Slice(ByteRange{range.end, fold.landed[i].end()});
      Consume(fold.flows[i], range.size());
    }
  }
  if (fold.folded > before) host_->BufferAdvanced(node, fold.order.output);
  if (fold.folded < fold.order.size) return;
  for (StreamId stream : fold.flows) {
    // Even of an empty input one must hear that it is ready.
    if (stream && flow(stream).receiving) return;
  }
  EndFold(index, event::FoldDone{fold.order.fold});
}

void DataPlaneModel::EndFold(std::uint32_t index, Event last) {
  FoldState& fold = folds_[index];
  if (fold.ended) return;
  fold.ended = true;
  const NodeId node = fold.node.node;
  host_->Tell(node, std::move(last));
  std::vector<BufferId> buffers = {fold.order.own};
  for (const command::FoldInput& input : fold.order.inputs) {
    if (input.local) buffers.push_back(input.local);
  }
  for (BufferId buffer : buffers) {
    const auto followed = followers_.find({node, buffer});
    if (followed != followers_.end()) {
      followed->second.folds.erase(index);
      if (followed->second.folds.empty() && followed->second.flows.empty()) {
        followers_.erase(followed);
      }
    }
    host_->LetGo(node, buffer, StoreModel::Holder::kOrder);
  }
  host_->LetGo(node, fold.order.output, StoreModel::Holder::kOrder);
}

void DataPlaneModel::FoldInputFailed(std::uint32_t index, NodeRef lost) {
  FoldState& fold = folds_[index];
  if (fold.ended) return;
  for (StreamId stream : fold.flows) {
    if (stream) CloseReceiver(stream);
  }
  EndFold(index, event::FoldFailed{fold.order.fold, lost});
}

void DataPlaneModel::CancelFold(NodeRef node, FoldId id) {
  const auto found = fold_ids_.find({node.node, id});
  if (found == fold_ids_.end()) {
    host_->Complain(node.node, absl::StrCat("cancels fold ", id.value(),
                                            ", which never was"));
    return;
  }
  FoldInputFailed(found->second, NodeRef{});
}

}  // namespace hoplite::sim
