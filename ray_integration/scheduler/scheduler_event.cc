#include "ray_integration/scheduler/scheduler_event.h"

#include "absl/strings/str_cat.h"
#include "hoplite/base/overloaded.h"

namespace hoplite::task {
namespace {

using absl::StrCat;

std::string Text(const NodeRef& node) {
  return StrCat(node.node.value(), "#", node.incarnation.value());
}

std::string Text(const LeaseRequest& request) {
  std::uint64_t bytes = 0;
  for (const LeaseArgument& each : request.arguments) bytes += each.bytes;
  return StrCat(ToString(request.lease), " program=", request.program,
                " need={", ToString(request.need), "} depth=", request.depth,
                " arguments=", request.arguments.size(), "/", bytes,
                "B host=", request.host, request.spread ? " spread" : "",
                request.for_actor ? " actor" : "", " hops=", request.hops);
}

}  // namespace

std::string DebugString(const SchedulerEvent& event) {
  namespace on = scheduler_event;
  return std::visit(
      Overloaded{[](const on::LeaseRequested& e) {
                   return StrCat("LeaseRequested ", Text(e.request));
                 },
                 [](const on::LeaseWithdrawn& e) {
                   return StrCat("LeaseWithdrawn ", ToString(e.lease));
                 },
                 [](const on::LeaseReturned& e) {
                   return StrCat("LeaseReturned ", ToString(e.lease),
                                 " worker=", e.worker.value());
                 },
                 [](const on::OwnerLost& e) {
                   return StrCat("OwnerLost ", ToString(e.owner));
                 },
                 [](const on::WorkerStarted& e) {
                   return StrCat("WorkerStarted start=", e.start.value(),
                                 " worker=", e.worker.value());
                 },
                 [](const on::WorkerStartFailed& e) {
                   return StrCat("WorkerStartFailed start=", e.start.value(),
                                 " why=", e.why.ToString());
                 },
                 [](const on::WorkerLost& e) {
                   return StrCat("WorkerLost worker=", e.worker.value());
                 },
                 [](const on::WorkerBlocked& e) {
                   return StrCat("WorkerBlocked worker=", e.worker.value());
                 },
                 [](const on::WorkerResumed& e) {
                   return StrCat("WorkerResumed worker=", e.worker.value());
                 },
                 [](const on::WorkerOwns& e) {
                   return StrCat("WorkerOwns worker=", e.worker.value(),
                                 " owns=", e.owns);
                 },
                 [](const on::ProgramEnded& e) {
                   return StrCat("ProgramEnded program=", e.program);
                 },
                 [](const on::ArgumentsReady& e) {
                   return StrCat("ArgumentsReady fetch=", e.fetch.value());
                 },
                 [](const on::ArgumentsFailed& e) {
                   return StrCat("ArgumentsFailed fetch=", e.fetch.value(),
                                 " why=", e.why.ToString());
                 },
                 [](const on::ArgumentsUsed& e) {
                   return StrCat("ArgumentsUsed ", ToString(e.lease));
                 },
                 [](const on::NodesChanged& e) {
                   return StrCat("NodesChanged nodes=", e.nodes.size());
                 },
                 [](const on::NodeLost& e) {
                   return StrCat("NodeLost node=", Text(e.node));
                 }},
      event);
}

}  // namespace hoplite::task
