#include "hoplite/cli/undo_at_signal.h"

#include <list>
#include <thread>
#include <utility>

#include "hoplite/base/mutex.h"

namespace hoplite::cli {
namespace {

struct Living {
  Mutex mutex;
  std::list<const std::function<void()>*> undos ABSL_GUARDED_BY(mutex);
};

// Never destroyed: the thread that waits may outlive main().
Living& AllLiving() {
  static Living& living = *new Living;  // tidy-allow(new): outlives main()
  return living;
}

void AwaitSignal(const sigset_t& ending) {
  int number = 0;
  while (sigwait(&ending, &number) != 0) {
  }
  pthread_sigmask(SIG_UNBLOCK, &ending, nullptr);
  // Held to the end: nothing that is being undone may go meanwhile.
  Living& living = AllLiving();
  MutexLock lock(living.mutex);
  for (auto undo = living.undos.rbegin(); undo != living.undos.rend(); ++undo) {
    (**undo)();
  }
  std::raise(number);
}

}  // namespace

sigset_t EndingSignals() {
  sigset_t ending;
  sigemptyset(&ending);
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction now;
    if (sigaction(number, nullptr, &now) == 0 && now.sa_handler != SIG_IGN) {
      sigaddset(&ending, number);
    }
  }
  return ending;
}

void UndoAtSignal::Watch() {
  const sigset_t ending = EndingSignals();
  pthread_sigmask(SIG_BLOCK, &ending, nullptr);
  // tidy-allow(thread): it waits for a signal, and nothing waits for it
  std::thread([ending] { AwaitSignal(ending); }).detach();
}

UndoAtSignal::UndoAtSignal(std::function<void()> undo)
    : undo_(std::move(undo)) {
  Living& living = AllLiving();
  MutexLock lock(living.mutex);
  living.undos.push_back(&undo_);
}

UndoAtSignal::~UndoAtSignal() {
  Living& living = AllLiving();
  MutexLock lock(living.mutex);
  living.undos.remove(&undo_);
}

}  // namespace hoplite::cli
