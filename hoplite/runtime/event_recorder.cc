#include "hoplite/runtime/event_recorder.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "spdlog/spdlog.h"

namespace hoplite {

EventRecorder::EventRecorder(std::string path, std::uint64_t bytes_max)
    : path_(std::move(path)),
      bytes_max_(bytes_max),
      file_(path_, std::ios::binary | std::ios::trunc) {
  file_ << std::string(kLogMagic) << std::flush;
  bytes_ = kLogMagic.size();
}

absl::StatusOr<std::unique_ptr<EventRecorder>> EventRecorder::Create(
    const std::string& path, std::uint64_t bytes_max) {
  // No make_unique: the constructor is private.
  std::unique_ptr<EventRecorder> recorder(new EventRecorder(path, bytes_max));
  if (recorder->file_) return recorder;
  return absl::InvalidArgumentError(absl::StrCat(
      "cannot record to ", path, ": choose a file that can be written"));
}

void EventRecorder::Add(const LogRecord& record) {
  if (!file_.is_open()) return;
  std::string bytes;
  if (AppendLogRecord(record, bytes) && bytes_ + bytes.size() <= bytes_max_) {
    bytes_ += bytes.size();
    if (file_ << bytes << std::flush) return;
  }
  spdlog::warn("node: the recorded log {} ends here, after {} bytes", path_,
               bytes_);
  file_.close();
}

}  // namespace hoplite
