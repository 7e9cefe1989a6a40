#include "hoplite/sim/faulty_machine.h"

#include <algorithm>
#include <variant>

namespace hoplite::sim {

void FaultyMachine::Handle(absl::Time now, const Event& event, Commands& out) {
  Remember(event);
  const std::optional<Event> told = Change(event, out);
  if (told.has_value()) machine_->Handle(now, *told, out);
  Finish(now, out);
}

void FaultyMachine::HandleTimeout(absl::Time now, Commands& out) {
  machine_->HandleTimeout(now, out);
  Finish(now, out);
}

std::optional<absl::Time> FaultyMachine::NextTimeout() const {
  const std::optional<absl::Time> next = machine_->NextTimeout();
  if (!late_answer_.has_value()) return next;
  return std::min(next.value_or(absl::InfiniteFuture()), late_at_);
}

void FaultyMachine::Remember(const Event& event) {
  if (const auto* get = std::get_if<event::GetRequested>(&event)) {
    gets_[get->object].push_back(get->request);
  } else if (const auto* put = std::get_if<event::PutRequested>(&event)) {
    puts_[put->request] = put->object;
  } else if (const auto* pull = std::get_if<event::PullRequested>(&event)) {
    pulled_[pull->pull] = pull->key.object;
  } else if (const auto* reduce = std::get_if<event::ReduceRequested>(&event)) {
    reduces_[reduce->request] = *reduce;
  } else if (const auto* over = std::get_if<event::RequestCancelled>(&event)) {
    cancelled_.insert(over->request);
  } else if (const auto* got = std::get_if<event::MessageReceived>(&event)) {
    const auto* place = std::get_if<message::Assignment>(&got->message);
    if (place != nullptr && place->root) roots_.insert(place->target);
  }
}

void FaultyMachine::Remember(const Commands& out) {
  for (const Command& command : out) {
    if (const auto* made = std::get_if<command::CreateBuffer>(&command)) {
      sizes_[made->buffer] = made->size;
    } else if (const auto* gone =
                   std::get_if<command::ReleaseBuffer>(&command)) {
      sizes_.erase(gone->buffer);
    } else if (const auto* fold = std::get_if<command::StartFold>(&command)) {
      folds_[fold->fold] = *fold;
    } else if (const auto* hand = std::get_if<command::HandBuffer>(&command)) {
      handed_[hand->request] = hand->buffer;
    }
  }
}

std::optional<Event> FaultyMachine::Change(const Event& event, Commands& out) {
  DropIfSuspected(event, out);
  if (Is(Mistake::kFoldOneLess)) {
    const auto* reduce = std::get_if<event::ReduceRequested>(&event);
    if (reduce != nullptr && reduce->count > 1) {
      plant_->made = true;
      event::ReduceRequested less = *reduce;
      --less.count;
      return less;
    }
  }
  if (Is(Mistake::kIgnorePull) &&
      std::holds_alternative<event::PullRequested>(event)) {
    plant_->made = true;
    return std::nullopt;
  }
  const auto* got = std::get_if<event::MessageReceived>(&event);
  if (Is(Mistake::kTakeNoReport) && got != nullptr) {
    const auto* report = std::get_if<message::Holdings>(&got->message);
    if (report != nullptr && !report->entries.empty()) {
      plant_->made = true;
      message::Holdings nothing = *report;
      nothing.entries.clear();
      return event::MessageReceived{got->from, nothing};
    }
  }
  if (Is(Mistake::kDeleteNothing) && got != nullptr) {
    if (const auto* ask = std::get_if<message::DeleteAsk>(&got->message)) {
      plant_->made = true;
      out.push_back(command::Send{
          got->from, message::DeleteAnswer{ask->object, ask->request,
                                           absl::StatusCode::kOk}});
      return std::nullopt;
    }
  }
  const auto* failed = std::get_if<event::FoldFailed>(&event);
  if (Is(Mistake::kTakeLostInput) && failed != nullptr && failed->lost) {
    plant_->made = true;
    constexpr std::uint64_t kUnused = 1'000'000;
    command::StartFold again = folds_.at(failed->fold);
    again.fold = FoldId(kUnused);
    out.push_back(again);
  }
  const auto* done = std::get_if<event::FoldDone>(&event);
  const bool answers =
      Is(Mistake::kAnswerBeforeFinal) || Is(Mistake::kAnswerPartialSum);
  if (answers && done != nullptr) {
    const command::StartFold& fold = folds_.at(done->fold);
    const auto gets = gets_.find(fold.target);
    const bool whole = roots_.contains(fold.target);
    if (whole == Is(Mistake::kAnswerBeforeFinal) && gets != gets_.end()) {
      plant_->made = true;
      AnswerFalsely(gets->second.front(), fold.output);
    }
  }
  return event;
}

void FaultyMachine::AnswerFalsely(RequestId request, BufferId buffer) {
  command::AnswerRequest answer;
  answer.request = request;
  answer.buffer = buffer;
  false_answer_ = answer;
}

void FaultyMachine::Finish(absl::Time now, Commands& out) {
  Remember(out);
  if (plant_->mistake == Mistake::kNone) return;
  SpoilTransfers(out);
  SpoilGrants(out);
  SpoilServing(out);
  SpoilFolds(out);
  SpoilMending(out);
  SpoilFinal(out);
  SpoilMembers(out);
  SpoilMemory(out);
  SpoilAnswers(now, out);
  SpoilRequests(out);
}

void FaultyMachine::SpoilTransfers(Commands& out) {
  for (std::size_t i = 0; i < out.size(); ++i) {
    auto* start = std::get_if<command::StartTransfer>(&out[i]);
    if (start == nullptr || start->key.is_output()) continue;
    if (Is(Mistake::kStartAgain) && start->begin > 0) {
      plant_->made = true;
      start->begin = 0;
    }
    if (Is(Mistake::kSkipBytes) && start->size > start->frame_bytes) {
      plant_->made = true;
      start->begin += start->frame_bytes;
    }
    const auto gets = gets_.find(start->key.object);
    if (Is(Mistake::kAnswerEarly) && gets != gets_.end()) {
      plant_->made = true;
      AnswerFalsely(gets->second.front(), start->buffer);
    }
    if (Is(Mistake::kFetchTwice)) {
      plant_->made = true;
      constexpr std::uint64_t kUnused = 1'000'000;
      command::StartTransfer again = *start;
      again.transfer = TransferId(kUnused);
      out.push_back(again);
      return;
    }
  }
}

void FaultyMachine::SpoilGrants(Commands& out) {
  if (!Is(Mistake::kGrantCircle) && !Is(Mistake::kGrantTwice)) return;
  std::vector<std::pair<NodeRef, message::Grant*>> grants;
  for (Command& command : out) {
    auto* send = std::get_if<command::Send>(&command);
    if (send == nullptr) continue;
    auto* grant = std::get_if<message::Grant>(&send->message);
    if (grant != nullptr) grants.emplace_back(send->to, grant);
  }
  for (auto& [upper, first] : grants) {
    for (auto& [lower, second] : grants) {
      if (second->object != first->object || second->server != upper) continue;
      plant_->made = true;
      if (plant_->mistake == Mistake::kGrantCircle) {
        first->server = lower;
      } else {
        second->server = first->server;
      }
      return;
    }
  }
}

void FaultyMachine::SpoilServing(Commands& out) {
  for (Command& command : out) {
    auto* serve = std::get_if<command::ServePull>(&command);
    if (serve == nullptr) continue;
    const std::uint64_t size = sizes_[serve->buffer];
    if (Is(Mistake::kServeAbandonedPut) && abandoned_ &&
        pulled_[serve->pull] == abandoned_object_) {
      plant_->made = true;
      serve->buffer = abandoned_;
    }
    if (!Is(Mistake::kServeOtherObject)) continue;
    for (const auto& [other, other_size] : sizes_) {
      if (other == serve->buffer || other_size != size) continue;
      plant_->made = true;
      serve->buffer = other;
      break;
    }
  }
}

void FaultyMachine::SpoilFolds(Commands& out) {
  for (Command& command : out) {
    auto* fold = std::get_if<command::StartFold>(&command);
    if (fold == nullptr) continue;
    if (Is(Mistake::kFoldSourceTwice)) {
      plant_->made = true;
      command::FoldInput again;
      again.local = fold->own;
      fold->inputs.push_back(again);
    }
    if (Is(Mistake::kDropSource) && !fold->inputs.empty()) {
      plant_->made = true;
      fold->inputs.pop_back();
    }
    if (Is(Mistake::kForgetDivisor) && fold->divisor > 1) {
      plant_->made = true;
      fold->divisor = 1;
    }
  }
}

void FaultyMachine::SpoilMending(Commands& out) {
  for (std::size_t i = 0; i < out.size(); ++i) {
    auto* send = std::get_if<command::Send>(&out[i]);
    if (send == nullptr) continue;
    auto* place = std::get_if<message::Assignment>(&send->message);
    if (place == nullptr) continue;
    const PullKey key{place->target, place->position};
    const auto before = assigned_.find(key);
    if (before != assigned_.end() && before->second.first != send->to &&
        Is(Mistake::kKeepGeneration)) {
      plant_->made = true;
      kept_[place->output] = before->second.second;
    }
    if (before != assigned_.end() && before->second.first == send->to &&
        Is(Mistake::kForgetAncestor)) {
      plant_->made = true;
      out.erase(out.begin() + static_cast<std::ptrdiff_t>(i));
      return;
    }
    assigned_[key] = {send->to, place->output};
    const auto keep = [&](Generation& generation) {
      const auto kept = kept_.find(generation);
      if (kept != kept_.end()) generation = kept->second;
    };
    keep(place->output);
    for (message::ReduceInput& input : place->inputs) keep(input.generation);
  }
}

void FaultyMachine::SpoilMemory(Commands& out) {
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (auto* send = std::get_if<command::Send>(&out[i])) {
      auto* report = std::get_if<message::Holdings>(&send->message);
      if (Is(Mistake::kReportNothing) && report != nullptr &&
          !report->entries.empty()) {
        plant_->made = true;
        report->entries.clear();
      }
      auto* answer = std::get_if<message::EvictAnswer>(&send->message);
      if (!Is(Mistake::kEvictLastCopy) || answer == nullptr ||
          answer->denied.empty()) {
        continue;
      }
      plant_->made = true;
      answer->allowed.push_back(answer->denied.front());
      answer->denied.erase(answer->denied.begin());
      continue;
    }
    const auto* release = std::get_if<command::ReleaseBuffer>(&out[i]);
    if (release == nullptr) continue;
    if (Is(Mistake::kServeAbandonedPut) && !abandoned_) {
      for (const auto& [request, buffer] : handed_) {
        if (buffer != release->buffer || !cancelled_.contains(request))
          continue;
        abandoned_ = buffer;
        abandoned_object_ = puts_.at(request);
      }
      if (abandoned_) out.erase(out.begin() + static_cast<std::ptrdiff_t>(i));
      return;
    }
    if (Is(Mistake::kKeepBuffer)) {
      plant_->made = true;
      out.erase(out.begin() + static_cast<std::ptrdiff_t>(i));
      return;
    }
    if (Is(Mistake::kReleaseTwice)) {
      plant_->made = true;
      out.push_back(*release);
      return;
    }
  }
}

void FaultyMachine::SpoilAnswers(absl::Time now, Commands& out) {
  if (late_answer_.has_value() && now >= late_at_) {
    out.push_back(*late_answer_);
    late_answer_.reset();
    return;
  }
  for (std::size_t i = 0; i < out.size(); ++i) {
    auto* answer = std::get_if<command::AnswerRequest>(&out[i]);
    if (answer == nullptr) continue;
    if (answer->code == absl::StatusCode::kDeadlineExceeded &&
        Is(Mistake::kAnswerLate)) {
      plant_->made = true;
      late_answer_ = *answer;
      late_at_ = now + absl::Seconds(1);
      out.erase(out.begin() + static_cast<std::ptrdiff_t>(i));
      return;
    }
    if (answer->code != absl::StatusCode::kOk) continue;
    if (Is(Mistake::kAnswerTwice)) {
      plant_->made = true;
      out.push_back(*answer);
      return;
    }
    const bool get = static_cast<bool>(answer->buffer);
    if (Is(Mistake::kDenyObject) && get) {
      plant_->made = true;
      answer->code = absl::StatusCode::kNotFound;
    }
    if (Is(Mistake::kDeclareLoss) && get) {
      plant_->made = true;
      answer->code = absl::StatusCode::kDataLoss;
    }
    if (Is(Mistake::kAnswerNever) && get) {
      plant_->made = true;
      out.erase(out.begin() + static_cast<std::ptrdiff_t>(i));
      return;
    }
    if (Is(Mistake::kReportOtherSource)) ReportOther(*answer);
  }
}

void FaultyMachine::ReportOther(command::AnswerRequest& answer) {
  const auto asked = reduces_.find(answer.request);
  if (asked == reduces_.end() || answer.sources.empty()) return;
  for (const ObjectId& source : asked->second.sources) {
    if (std::find(answer.sources.begin(), answer.sources.end(), source) !=
        answer.sources.end()) {
      continue;
    }
    plant_->made = true;
    answer.sources.back() = source;
    return;
  }
}

void FaultyMachine::SpoilRequests(Commands& out) {
  const auto* hand = [&out]() -> const command::HandBuffer* {
    for (const Command& command : out) {
      const auto* found = std::get_if<command::HandBuffer>(&command);
      if (found != nullptr) return found;
    }
    return nullptr;
  }();
  if (hand != nullptr && Is(Mistake::kSealEarly)) {
    plant_->made = true;
    AnswerFalsely(hand->request, BufferId());
  }
  // Whoever was told something false hears nothing else.
  std::erase_if(out, [this](const Command& command) {
    const auto* answer = std::get_if<command::AnswerRequest>(&command);
    return answer != nullptr && falsely_answered_.contains(answer->request);
  });
  if (!false_answer_.has_value()) return;
  out.push_back(*false_answer_);
  falsely_answered_.insert(false_answer_->request);
  false_answer_.reset();
}

MachineFactory MakeFaultyNodes(std::shared_ptr<Plant> plant) {
  return [plant](NodeConfig config) -> std::unique_ptr<Machine> {
    return std::make_unique<FaultyMachine>(std::move(config), plant);
  };
}

}  // namespace hoplite::sim
