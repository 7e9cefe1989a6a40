#include "hoplite/runtime/transfer_log.h"

#include <utility>
#include <variant>

namespace hoplite {

void TransferLog::Saw(absl::Time now, const Command& command) {
  if (const auto* start = std::get_if<command::StartTransfer>(&command)) {
    pulls_[start->transfer] = {.record = {.object = start->key.object,
                                          .server = start->server,
                                          .bytes = start->size - start->begin,
                                          .started = now},
                               .begin = start->begin};
    return;
  }
  const auto* fold = std::get_if<command::StartFold>(&command);
  if (fold == nullptr) return;
  std::vector<TransferRecord> inputs;
  for (const command::FoldInput& input : fold->inputs) {
    if (input.local) continue;
    inputs.push_back({.object = fold->target,
                      .server = input.member,
                      .bytes = fold->size,
                      .started = now,
                      .is_input = true});
  }
  if (!inputs.empty()) folds_[fold->fold] = std::move(inputs);
}

void TransferLog::Saw(absl::Time now, const Event& event) {
  if (const auto* done = std::get_if<event::TransferDone>(&event)) {
    Ended(now, done->transfer, nullptr);
  } else if (const auto* broken = std::get_if<event::TransferFailed>(&event)) {
    Ended(now, broken->transfer, broken);
  } else if (const auto* folded = std::get_if<event::FoldDone>(&event)) {
    Ended(now, folded->fold, false);
  } else if (const auto* failed = std::get_if<event::FoldFailed>(&event)) {
    Ended(now, failed->fold, true);
  }
}

void TransferLog::Ended(absl::Time now, TransferId id,
                        const event::TransferFailed* why) {
  const auto it = pulls_.find(id);
  if (it == pulls_.end()) return;
  Pull pull = std::move(it->second);
  pulls_.erase(it);
  if (why != nullptr) {
    pull.record.failed = true;
    pull.record.bytes =
        why->received > pull.begin ? why->received - pull.begin : 0;
  }
  Keep(now, std::move(pull.record));
}

void TransferLog::Ended(absl::Time now, FoldId id, bool failed) {
  const auto it = folds_.find(id);
  if (it == folds_.end()) return;
  const std::vector<TransferRecord> inputs = std::move(it->second);
  folds_.erase(it);
  for (TransferRecord input : inputs) {
    input.failed = failed;
    if (failed) input.bytes = 0;
    Keep(now, std::move(input));
  }
}

void TransferLog::Keep(absl::Time now, TransferRecord record) {
  record.ended = now;
  kept_.push_back(std::move(record));
  if (kept_.size() > kTransfersKept) kept_.pop_front();
}

std::vector<TransferRecord> TransferLog::Records() const {
  return {kept_.begin(), kept_.end()};
}

}  // namespace hoplite
