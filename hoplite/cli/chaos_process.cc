#include "hoplite/cli/chaos_process.h"

#include <csignal>
#include <utility>

#include "absl/status/statusor.h"

namespace hoplite::cli {
namespace {

constexpr std::size_t kLastWordsBytes = 4096;

}  // namespace

void ChaosInbox::Add(ChaosLine line) {
  MutexLock lock(mutex_);
  lines_.push_back(std::move(line));
  added_.NotifyOne();
}

std::optional<ChaosLine> ChaosInbox::Next(absl::Time deadline) {
  MutexLock lock(mutex_);
  while (lines_.empty()) {
    if (!added_.WaitUntil(mutex_, deadline) && lines_.empty()) {
      return std::nullopt;
    }
  }
  ChaosLine line = std::move(lines_.front());
  lines_.pop_front();
  return line;
}

ChaosProcess::ChaosProcess(std::uint64_t number,
                           std::unique_ptr<testbed::HostProcess> process,
                           ChaosInbox* inbox)
    : number_(number), process_(std::move(process)) {
  reader_ = std::thread([number, inbox, read = process_.get()] {
    while (true) {
      absl::StatusOr<std::string> line = read->ReadLine(absl::InfiniteFuture());
      if (!line.ok()) break;
      inbox->Add({number, *std::move(line)});
    }
    inbox->Add({number, std::nullopt});
  });
}

ChaosProcess::~ChaosProcess() {
  // One that has ended already needs no signal.
  process_->Signal(SIGKILL).IgnoreError();
  reader_.join();
}

std::string ChaosProcess::LastWords() const {
  std::string text = process_->StandardError();
  if (text.size() > kLastWordsBytes) {
    text.erase(0, text.size() - kLastWordsBytes);
  }
  return text;
}

}  // namespace hoplite::cli
