// EventLoop is the one thread of a data plane: it waits until a socket is
// ready, somebody posts a task or a tick is due, and runs what that asks for.
//
// It only tells readiness; whoever is told reads and writes himself. Between
// two waits nothing is left behind: what a task defers runs at its end.
//
// Not responsible for: bytes, protocol.
// Thread safety: Post and InLoop are thread-safe. All else, and every method
// of Watch, is for the loop's own thread, or for anybody while it does not
// run.

#ifndef HOPLITE_NET_TCP_DATA_LOOP_H_
#define HOPLITE_NET_TCP_DATA_LOOP_H_

#include <atomic>
#include <functional>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

namespace hoplite {

class EventLoop {
 public:
  // Something that runs once at the end of the present task, however often it
  // was deferred. It may be destroyed before.
  class Deferred {
   public:
    Deferred() = default;
    Deferred(const Deferred&) = delete;
    Deferred& operator=(const Deferred&) = delete;
    virtual void RunDeferred() = 0;

   protected:
    virtual ~Deferred();

   private:
    friend class EventLoop;
    EventLoop* deferred_by_ = nullptr;
  };

  EventLoop();
  // REQUIRES: it does not run.
  ~EventLoop();
  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;

  // REQUIRES: called once.
  void Start();
  // Ends after the tasks posted before; later ones never run. Does nothing
  // where it does not run. REQUIRES: not called from the loop's thread.
  void Stop();

  bool InLoop() const { return std::this_thread::get_id() == thread_id_; }
  void Post(std::function<void()> task);

  void Defer(Deferred& deferred);
  // Ends the life of `object` when nothing of it can be running any more.
  void DestroyLater(std::shared_ptr<void> object);
  // What a tick does; false ends the ticking. REQUIRES: called before Start.
  void SetTick(std::function<bool()> tick) { tick_ = std::move(tick); }
  // Ticks once a second from now on. Does nothing where it ticks already.
  void StartTicking();

 private:
  friend class Watch;
  struct Parts;

  void WaitForTick();
  void FinishTask();

  const std::unique_ptr<Parts> parts_;
  std::thread thread_;
  std::atomic<std::thread::id> thread_id_;  // set by the thread itself
  bool ticking_ = false;
  std::function<bool()> tick_;
  std::vector<Deferred*> deferred_;  // null: destroyed meanwhile
  std::vector<std::shared_ptr<void>> destroyed_later_;
};

// Watch owns a file descriptor and calls its handler when that is ready.
class Watch {
 public:
  class Handler {
   public:
    virtual void OnReadable() = 0;
    virtual void OnWritable() = 0;

   protected:
    ~Handler() = default;
  };

  // Takes the descriptor over; where the kernel has no room to watch one more,
  // it is closed, and ready at once. The loop and the handler outlive this.
  Watch(EventLoop& loop, int descriptor, Handler* handler);
  // Closes the descriptor; the handler is not called any more.
  ~Watch();
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  // -1: closed, see above.
  int descriptor() const;
  void SetHandler(Handler* handler);

  // One call of OnReadable (OnWritable), as soon as there is something to
  // read: bytes, the end, or an error. Asking again before that changes
  // nothing.
  void WaitReadable();
  void WaitWritable();

 private:
  struct State;

  const std::shared_ptr<State> state_;
};

}  // namespace hoplite

#endif  // HOPLITE_NET_TCP_DATA_LOOP_H_
