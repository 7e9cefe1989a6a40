#include <poll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <future>
#include <iostream>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "hoplite/base/status_macros.h"
#include "hoplite/cli/amounts.h"
#include "hoplite/cli/bench_options.h"
#include "hoplite/cli/command_line.h"
#include "hoplite/cli/commands.h"
#include "hoplite/cli/companion.h"
#include "hoplite/cli/files.h"
#include "hoplite/cli/undo_at_signal.h"
#include "hoplite/net/host_port.h"
#include "hoplite/net/local_address.h"
#include "hoplite/runtime/node_server.h"

namespace hoplite::cli {
namespace {

// The signals that end a node. From here on no thread is interrupted by them:
// they wait in the descriptor that is returned.
absl::StatusOr<Descriptor> CatchSignals(sigset_t& caught) {
  caught = EndingSignals();
  sigaddset(&caught, SIGINT);
  sigaddset(&caught, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &caught, nullptr);
  const int signals = signalfd(-1, &caught, SFD_CLOEXEC);
  if (signals >= 0) return Descriptor(signals);
  return FileError(errno, "cannot wait for signals");
}

// Returns at a signal or, with `input`, at the end of standard input.
void WaitForTheEnd(const Descriptor& signals, bool input) {
  pollfd waited[] = {
      {.fd = signals.number(), .events = POLLIN, .revents = 0},
      {.fd = input ? STDIN_FILENO : -1, .events = POLLIN, .revents = 0}};
  for (;;) {
    if (poll(waited, 2, -1) < 0) continue;  // interrupted
    if (waited[0].revents != 0) {
      // Takes the signal, which would else be there still when unblocked.
      signalfd_siginfo taken;
      if (read(signals.number(), &taken, sizeof(taken)) > 0) return;
      continue;
    }
    char ignored[4096];
    if (waited[1].revents != 0 &&
        read(STDIN_FILENO, ignored, sizeof(ignored)) <= 0) {
      return;
    }
  }
}

// Runs `start`, which may take a while. A signal that comes meanwhile ends the
// process: nothing is there yet that would have to be left in order.
absl::StatusOr<std::unique_ptr<NodeServer>> StartUnlessEnded(
    const NodeOptions& options, const Descriptor& signals) {
  const Descriptor ready(eventfd(0, EFD_CLOEXEC));
  if (ready.number() < 0) return FileError(errno, "cannot wait for the start");
  std::future<absl::StatusOr<std::unique_ptr<NodeServer>>> starting =
      std::async(std::launch::async, [&] {
        auto node = NodeServer::Start(options);
        eventfd_write(ready.number(), 1);
        return node;
      });
  pollfd waited[] = {{.fd = signals.number(), .events = POLLIN, .revents = 0},
                     {.fd = ready.number(), .events = POLLIN, .revents = 0}};
  while (poll(waited, 2, -1) < 0) {  // interrupted
  }
  if (waited[1].revents == 0) {
    signalfd_siginfo taken;
    if (read(signals.number(), &taken, sizeof(taken)) > 0) {
      constexpr int kEndedBySignal = 128;  // as the shell counts
      _exit(kEndedBySignal + static_cast<int>(taken.ssi_signo));
    }
  }
  return starting.get();
}

// Where to listen if nothing is said: this host's address on the way to the
// head, so that both see each other; the head itself on loopback.
absl::StatusOr<std::string> DefaultListen(const std::string& head) {
  if (head.empty()) return std::string("127.0.0.1:0");
  HOPLITE_ASSIGN_OR_RETURN(const HostPort there, HostPort::Parse(head));
  HOPLITE_ASSIGN_OR_RETURN(const std::string here, LocalHostTowards(there));
  return HostPort{.host = here, .port = 0}.ToString();
}

// A host as --listen has it, without its port; brackets are left out.
absl::StatusOr<std::string> AdvertiseOf(const cxxopts::ParseResult& parsed) {
  const std::string text = TextOf(parsed, "advertise");
  if (text.empty()) return text;
  // An IPv6 address may do without brackets.
  for (const std::string& host : {text, absl::StrCat("[", text, "]")}) {
    const auto known = HostPort::Parse(absl::StrCat(host, ":0"));
    if (known.ok()) return known->host;
  }
  return UsageError(absl::StrCat("--advertise is a host without a port, and \"",
                                 text, "\" is none"));
}

// A node with a few connections needs as many.
absl::Status CheckDescriptors() {
  constexpr rlim_t kLeast = 32;
  rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= kLeast) {
    return absl::OkStatus();
  }
  return AsNoNodeError(absl::FailedPreconditionError(absl::StrCat(
      "a node needs at least ", kLeast, " file descriptors, and may have ",
      limit.rlim_cur, ": raise the limit, as by `ulimit -n 1024`")));
}

// Whatever keeps a node from starting, but for what was asked of it.
absl::Status StartError(const absl::Status& status) {
  if (absl::IsInvalidArgument(status) || absl::IsResourceExhausted(status)) {
    return status;
  }
  return AsNoNodeError(status);
}

absl::StatusOr<absl::Duration> PositiveTime(const cxxopts::ParseResult& parsed,
                                            const std::string& name) {
  const auto time = ParseDuration(parsed[name].as<std::string>());
  if (!time.ok()) {
    return UsageError(absl::StrCat("--", name, ": ", time.status().message()));
  }
  if (*time > absl::ZeroDuration() && *time < absl::InfiniteDuration()) {
    return *time;
  }
  return UsageError(absl::StrCat("--", name, " must be above zero"));
}

absl::StatusOr<NodeOptions> OptionsOf(const cxxopts::ParseResult& parsed) {
  NodeOptions options;
  options.join = TextOf(parsed, "join");
  if ((parsed.count("head") > 0) == (parsed.count("join") > 0)) {
    return UsageError(
        "give either --head, for the first node of a cluster, or "
        "--join=HOST:PORT with the head's address");
  }
  if (parsed.count("join") > 0) {
    const absl::Status valid = HostPort::Parse(options.join).status();
    if (!valid.ok()) return AsUsageError(valid);
  }
  options.listen = TextOf(parsed, "listen");
  if (options.listen.empty()) {
    HOPLITE_ASSIGN_OR_RETURN(options.listen, DefaultListen(options.join));
  } else if (const absl::Status valid =
                 HostPort::Parse(options.listen).status();
             !valid.ok()) {
    return AsUsageError(valid);
  }
  HOPLITE_ASSIGN_OR_RETURN(options.advertise, AdvertiseOf(parsed));
  const auto store = ParseBytes(parsed["store"].as<std::string>());
  if (!store.ok()) {
    return UsageError(absl::StrCat("--store: ", store.status().message()));
  }
  options.store_bytes = *store;
  HOPLITE_ASSIGN_OR_RETURN(options.join_timeout, TimeoutOf(parsed));
  HOPLITE_ASSIGN_OR_RETURN(options.heartbeat_interval,
                           PositiveTime(parsed, "heartbeat"));
  HOPLITE_ASSIGN_OR_RETURN(options.dead_after,
                           PositiveTime(parsed, "dead-after"));
  if (options.dead_after < 2 * options.heartbeat_interval) {
    return UsageError("--dead-after must be twice --heartbeat at least");
  }
  options.serve_clients = true;
  options.socket_path = TextOf(parsed, "socket");
  HOPLITE_ASSIGN_OR_RETURN(options.schedule, ScheduleOf(parsed));
  options.record = TextOf(parsed, "record");
  return options;
}

// What is linked in to run beside a node, and is wanted; else null.
absl::StatusOr<std::unique_ptr<Companion>> CompanionOf(
    const cxxopts::ParseResult& parsed, NodeOptions& options) {
  if (TheCompanion().make == nullptr || parsed.count("no-tasks") > 0) {
    return nullptr;
  }
  absl::StatusOr<std::unique_ptr<Companion>> companion =
      TheCompanion().make(TextOf(parsed, "resources"), options);
  if (companion.ok()) return companion;
  return absl::IsInvalidArgument(companion.status())
             ? UsageError(
                   absl::StrCat("--resources: ", companion.status().message()))
             : StartError(companion.status());
}

absl::Status Start(const cxxopts::ParseResult& parsed) {
  HOPLITE_RETURN_IF_ERROR(Positionals(parsed, 0, 0, "").status());
  HOPLITE_ASSIGN_OR_RETURN(NodeOptions options, OptionsOf(parsed));
  HOPLITE_RETURN_IF_ERROR(CheckDescriptors());
  std::signal(SIGPIPE, SIG_IGN);
  sigset_t caught;
  HOPLITE_ASSIGN_OR_RETURN(const Descriptor signals, CatchSignals(caught));
  HOPLITE_ASSIGN_OR_RETURN(const std::unique_ptr<Companion> companion,
                           CompanionOf(parsed, options));
  const absl::StatusOr<std::unique_ptr<NodeServer>> started =
      StartUnlessEnded(options, signals);
  if (!started.ok()) return StartError(started.status());
  NodeServer* const node = started->get();
  if (companion != nullptr) {
    const absl::Status begun = companion->Begin(*node);
    if (!begun.ok()) return StartError(begun);
  }
  const NodeReport report = node->Report();
  const std::uint32_t number = report.status.self.node.value();
  HOPLITE_RETURN_IF_ERROR(
      PrintResult(parsed,
                  {{"address", report.control_address},
                   {"socket", report.socket_path},
                   {"node", number},
                   {"process", report.process}},
                  absl::StrFormat("node %d listens at %s, socket %s", number,
                                  report.control_address, report.socket_path)));
  WaitForTheEnd(signals, parsed.count("end-with-input") > 0);
  // Who does not want to wait sends the signal again.
  pthread_sigmask(SIG_UNBLOCK, &caught, nullptr);
  if (companion != nullptr) companion->End();
  node->Stop();
  return absl::OkStatus();
}

}  // namespace

int StartCommand(int argc, char** argv) {
  cxxopts::Options options(
      "hoplite start",
      "Runs a node in the foreground, until SIGINT, SIGTERM or SIGHUP. When "
      "it is\nready it prints one line with its address, its socket and its "
      "number.");
  options.custom_help("(--head | --join=HOST:PORT) [OPTION…]");
  options.add_options()("head", "Be the first node of a new cluster")(
      "join", "Join the cluster of the head at this address",
      cxxopts::value<std::string>(), "HOST:PORT")(
      "listen",
      "Where other nodes reach this one: a name, an IPv4 address, or an IPv6 "
      "one in brackets; port 0 takes a free one (default: this host's address "
      "on the way to the head; for a head 127.0.0.1:0)",
      cxxopts::value<std::string>(), "HOST:PORT")(
      "advertise", "The host that others are told, where --listen is 0.0.0.0",
      cxxopts::value<std::string>(),
      "HOST")("store", "Memory for objects, reserved now",
              cxxopts::value<std::string>()->default_value("4GiB"), "SIZE")(
      "socket", "Where workers of this host connect (default: found by itself)",
      cxxopts::value<std::string>(), "PATH")(
      "schedule",
      "hoplite, or plain: without its schedules, to compare with; all nodes "
      "of a cluster alike",
      cxxopts::value<std::string>()->default_value("hoplite"),
      "NAME")("timeout", "Give up joining after this long",
              cxxopts::value<std::string>()->default_value("30s"), "TIME")(
      "heartbeat", "How often nodes say that they live; all nodes alike",
      cxxopts::value<std::string>()->default_value("1s"), "TIME")(
      "dead-after", "Who is silent for so long is dead; all nodes alike",
      cxxopts::value<std::string>()->default_value("3s"),
      "TIME")("end-with-input", "Stop at the end of standard input, too")(
      "record", "Record this node's log, for `hoplite replay`",
      cxxopts::value<std::string>(), "FILE");
  if (TheCompanion().make != nullptr) {
    options.add_options()("resources",
                          "What tasks may use here, as cpu=4,gpu=1 (default: "
                          "the processors of this machine)",
                          cxxopts::value<std::string>(), "NAME=AMOUNT,…")(
        "no-tasks", "Move objects only, run no tasks");
  }
  AddJsonOption(options);
  return RunCommand(options, argc, argv, Start);
}

}  // namespace hoplite::cli
