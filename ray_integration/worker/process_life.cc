// How a process of the task runtime begins, works and ends.

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "hoplite/base/status_macros.h"
#include "hoplite/net/host_port.h"
#include "ray_integration/worker/plain_reduce.h"
#include "ray_integration/worker/process_runtime.h"
#include "ray_integration/worker/program.h"
#include "ray_integration/worker/running_task.h"

namespace hoplite::task {
namespace {

// An agent answers its hello within so long.
constexpr absl::Duration kRegisterTimeout = absl::Seconds(10);
// An object that a reduction names and that failed is deleted again so soon,
// where the directory knew nothing of it.
constexpr absl::Duration kDeleteAgain = absl::Milliseconds(50);
// Where nobody has a copy for so long, there is none.
constexpr absl::Duration kLookTimeout = absl::Seconds(20);
// The agent's socket stands beside its node's.
constexpr absl::string_view kAgentSuffix = ".tasks";

}  // namespace

absl::StatusOr<std::unique_ptr<ProcessRuntime>> ProcessRuntime::Start(
    const ProcessOptions& options) {
  HOPLITE_ASSIGN_OR_RETURN(std::unique_ptr<Client> client,
                           Client::Connect(options.node));
  HOPLITE_ASSIGN_OR_RETURN(const NodeReport report, client->Report());
  HOPLITE_ASSIGN_OR_RETURN(std::unique_ptr<Poller> poller, Poller::Create());
  // tidy-allow(new): its constructor is private
  std::unique_ptr<ProcessRuntime> runtime(
      new ProcessRuntime(options, std::move(client), std::move(poller)));
  HOPLITE_RETURN_IF_ERROR(runtime->Register(report));
  RegisterPlainReduce(*runtime,
                      [runtime = runtime.get()](std::vector<ObjectId> sources) {
                        runtime->SetReduced(std::move(sources));
                      });
  return runtime;
}

ProcessRuntime::ProcessRuntime(const ProcessOptions& options,
                               std::unique_ptr<Client> client,
                               std::unique_ptr<Poller> poller)
    : options_(options),
      client_(std::move(client)),
      poller_(std::move(poller)),
      memory_(options.memory),
      trace_(memory_.spans()),
      peers_(*poller_,
             {.message =
                  [this](const Endpoint& from, Message message) {
                    MutexLock lock(mutex_);
                    OnMessage(from, std::move(message));
                  },
              .agent_message =
                  [this](const NodeInfo& from, Message message) {
                    OnAgentMessage(from, std::move(message));
                  },
              .batch_end = [] {},
              .closed =
                  [this](const ProcessId& process) {
                    MutexLock lock(mutex_);
                    OnLinkClosed(process);
                  },
              .agent_closed =
                  [this](const NodeRef& node, const absl::Status& why) {
                    MutexLock lock(mutex_);
                    OnAgentClosed(node, why);
                  },
              .hello =
                  [this](const LinkPtr& link, const Endpoint& from) {
                    MutexLock lock(mutex_);
                    peers_.Add(link, from);
                  }}),
      objects_(*this),
      tasks_(
          *this, objects_,
          {.call_ready =
               [this](const TaskPtr& call) { actors_.CallReady(call); },
           .call_done = [this](const TaskPtr& call) { actors_.CallDone(call); },
           .created =
               [this](const TaskPtr& task, const absl::Status& status) {
                 actors_.Created(task, status);
               }}),
      actors_(*this, objects_, tasks_),
      fetcher_(*this, objects_, tasks_, *this, *client_),
      executor_(*this, objects_, fetcher_) {}

absl::Status ProcessRuntime::Register(const NodeReport& report) {
  HOPLITE_ASSIGN_OR_RETURN(const HostPort node,
                           HostPort::Parse(report.control_address));
  HOPLITE_ASSIGN_OR_RETURN(
      self_.address,
      peers_.Listen(HostPort{.host = node.host, .port = 0}.ToString()));
  HOPLITE_ASSIGN_OR_RETURN(const ProgramInfo program, ThisProgram());
  message::Hello hello{.role = options_.is_worker() ? message::Role::kWorker
                                                    : message::Role::kDriver,
                       .from = self_,
                       .process = getpid(),
                       .token = options_.token,
                       .program = program};
  {
    MutexLock lock(mutex_);
    peers_.Introduce(hello);
    peers_.ConnectHome(absl::StrCat(report.socket_path, kAgentSuffix));
  }
  if (!Await([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(
                 mutex_) { return registered_.has_value(); },
             Now() + kRegisterTimeout)) {
    MutexLock lock(mutex_);
    if (!ended_.ok()) {
      return absl::UnavailableError(
          absl::StrCat("the node at ", report.socket_path,
                       " runs no tasks; start nodes with `hoplite start`: ",
                       ended_.message()));
    }
    return absl::UnavailableError("the node's agent does not answer");
  }
  std::string own_socket;
  {
    MutexLock lock(mutex_);
    HOPLITE_RETURN_IF_ERROR(ToStatus(registered_->error));
    self_.process = registered_->process;
    home_ = {.node = registered_->process.node,
             .host = registered_->host,
             .agent_address = ""};
    plain_ = registered_->plain;
    small_bytes_ = registered_->small_bytes;
    hello.from = self_;
    hello.driver = registered_->driver;
    peers_.Introduce(hello);
    peers_.SetHome(home_);
    peers_.SetSockets(registered_->sockets);
    own_socket = absl::StrCat("unix:", registered_->sockets,
                              self_.process.worker.value());
  }
  HOPLITE_RETURN_IF_ERROR(peers_.Listen(own_socket).status());
  // Now others may be sent here.
  MutexLock lock(mutex_);
  SendAgent(home_, hello);
  return absl::OkStatus();
}

ProcessRuntime::~ProcessRuntime() { Stop(); }

void ProcessRuntime::Stop() {
  {
    MutexLock lock(mutex_);
    if (ended_.ok()) ended_ = absl::CancelledError("this process has left");
    peers_.Stop();
    Changed();
  }
  client_->Shutdown();
  poller_->Stop();
}

void ProcessRuntime::RunTasks() {
  IncomingPtr next;
  const auto take = [&] {
    MutexLock lock(mutex_);
    if (!ended_.ok()) return true;
    next = executor_.TakeNext();
    return next != nullptr;
  };
  for (;;) {
    next = nullptr;
    poller_->Wait(take, absl::InfiniteFuture());
    if (next == nullptr) return;
    RunOne(next);
  }
}

void ProcessRuntime::RunOne(const IncomingPtr& incoming) {
  const absl::Time start = Now();
  memory_.begun().Set(incoming->info.result, incoming->info.function, start);
  absl::StatusOr<Encoded> result = absl::UnknownError("");
  {
    const RunningTaskScope scope(*incoming);
    result = executor_.Run(*incoming);
  }
  incoming->arguments.clear();
  message::TaskAnswer answer{.result = incoming->info.result,
                             .attempt = incoming->info.attempt};
  if (result.ok() && !incoming->info.creates &&
      result->size_bytes() > small_bytes_) {
    const absl::Status written = WriteToStore(incoming->info.result, *result);
    // By an earlier attempt, then; or nobody wants it any more.
    if (!written.ok() && !absl::IsAlreadyExists(written) &&
        !absl::IsNotFound(written)) {
      result = written;
    }
  }
  // With its node gone it is dead as well: what it says is no task's error.
  if (!result.ok() && options_.is_worker() &&
      absl::IsUnavailable(client_->Report().status())) {
    _exit(1);
  }
  const absl::Time end = Now();
  answer.run_micros =
      static_cast<std::uint32_t>(absl::ToInt64Microseconds(end - start));
  const bool spans_wait =
      trace_.Add(incoming->info, incoming->from.process, start, end,
                 result.status(), result.ok() ? result->size_bytes() : 0);
  if (result.ok() && incoming->info.creates) {
    memory_.begun().SetActor(incoming->info.function);
  }
  MutexLock lock(mutex_);
  memory_.begun().Clear();
  if (spans_wait) SendAgent(home_, message::SpansWait{});
  SweepDropped();
  Encoded kept;
  if (!result.ok()) {
    answer.error = ToInfo(result.status());
  } else {
    answer.reduced = std::move(incoming->reduced);
    answer.value.size = result->size_bytes();
    answer.value.meta = result->meta;
    AddInner(*result, answer.value);
    if (answer.value.size > small_bytes_) {
      answer.value.in_store = true;
      answer.value.location = home_.node;
    } else {
      result->AppendTo(answer.value.bytes);
    }
    kept = *std::move(result);
    kept.pieces.clear();
    kept.owner = nullptr;
  }
  executor_.Answer(incoming, std::move(answer), std::move(kept));
}

void ProcessRuntime::SetReduced(std::vector<ObjectId> sources) {
  if (RunningTask() != nullptr) RunningTask()->reduced = std::move(sources);
}

// tidy-allow(clock): a process's own time
absl::Time ProcessRuntime::Now() const { return absl::Now(); }

void ProcessRuntime::Send(const Endpoint& to, const Message& message) {
  peers_.Send(to, message);
}

void ProcessRuntime::SendAgent(const NodeInfo& node, const Message& message) {
  peers_.SendAgent(node, message);
}

void ProcessRuntime::Changed() { poller_->Notify(); }

void ProcessRuntime::Later(std::function<void()> work) {
  poller_->At(absl::InfinitePast(), [this, work = std::move(work)] {
    MutexLock lock(mutex_);
    work();
  });
}

void ProcessRuntime::WakeAt(absl::Time when) {
  if (when >= next_wake_) return;
  next_wake_ = when;
  poller_->At(when, [this, when] {
    MutexLock lock(mutex_);
    if (next_wake_ == when) OnTimer();
  });
}

void ProcessRuntime::PutIntoStore(const ObjectId& id, const ValuePtr& value) {
  const std::span<const std::byte> bytes(
      reinterpret_cast<const std::byte*>(value->bytes.data()),
      value->bytes.size());
  client_->PutAsync(id, bytes).Then(
      [this, id, value](const absl::Status& status) {
        Later([this, id, status] { objects_.Stored(id, status); });
      });
}

void ProcessRuntime::LookInStore(const ObjectId& id) {
  client_->GetAsync(id, {.timeout = kLookTimeout})
      .Then([this, id](const absl::StatusOr<Buffer>& buffer) {
        if (buffer.ok()) return;
        Later([this, id] { tasks_.Lost(id); });
      });
}

void ProcessRuntime::DeleteFromStore(const ObjectId& id) {
  client_->DeleteAsync(id).Then([this, id](const absl::Status& status) {
    if (!absl::IsNotFound(status)) return;
    // A reduction that is only about to wait for it has to hear of it, too.
    poller_->At(Now() + kDeleteAgain, [this, id] {
      MutexLock lock(mutex_);
      const ObjectEntry* entry = objects_.Find(id);
      if (entry != nullptr && entry->wanted_in_store && !entry->error.ok()) {
        DeleteFromStore(id);
      }
    });
  });
}

void ProcessRuntime::ActorUnreferenced(const ObjectId& actor) {
  actors_.Unreferenced(actor);
}

}  // namespace hoplite::task
