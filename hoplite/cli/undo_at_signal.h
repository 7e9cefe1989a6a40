// What has to be undone where a signal ends the process: a temporary file, a
// target that nobody else knows.
//
// Thread safety: thread-safe.

#ifndef HOPLITE_CLI_UNDO_AT_SIGNAL_H_
#define HOPLITE_CLI_UNDO_AT_SIGNAL_H_

#include <csignal>
#include <functional>

namespace hoplite::cli {

// SIGINT, SIGTERM and SIGHUP, but for those that are ignored, as by nohup.
sigset_t EndingSignals();

class UndoAtSignal {
 public:
  // From here on these signals first undo what lives, the newest first, and
  // then end the process as they always do; a second one ends it at once.
  // REQUIRES: once, before other threads.
  static void Watch();

  // Called by another thread, at most once; may block.
  explicit UndoAtSignal(std::function<void()> undo);
  // Waits for ever where a signal has come.
  ~UndoAtSignal();
  UndoAtSignal(const UndoAtSignal&) = delete;
  UndoAtSignal& operator=(const UndoAtSignal&) = delete;

 private:
  const std::function<void()> undo_;
};

}  // namespace hoplite::cli

#endif  // HOPLITE_CLI_UNDO_AT_SIGNAL_H_
