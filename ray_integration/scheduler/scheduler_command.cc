#include "ray_integration/scheduler/scheduler_command.h"

#include "absl/strings/str_cat.h"
#include "hoplite/base/overloaded.h"

namespace hoplite::task {

absl::string_view ToString(RefuseReason reason) {
  switch (reason) {
    case RefuseReason::kQueueFull:
      return "queue full";
    case RefuseReason::kInvalid:
      return "invalid";
    case RefuseReason::kNoSuchHost:
      return "no such host";
    case RefuseReason::kNoSuchResources:
      return "no such resources";
    case RefuseReason::kNoRoom:
      return "no room";
    case RefuseReason::kTooManyActors:
      return "too many actors";
    case RefuseReason::kArgumentsFailed:
      return "arguments failed";
    case RefuseReason::kProgramFails:
      return "program fails";
  }
  return "unknown";
}

std::string DebugString(const SchedulerCommand& command) {
  using absl::StrCat;
  namespace order = scheduler_command;
  return std::visit(
      Overloaded{
          [](const order::StartWorker& c) {
            return StrCat("StartWorker start=", c.start.value(),
                          " program=", c.program);
          },
          [](const order::EndWorker& c) {
            return StrCat("EndWorker worker=", c.worker.value());
          },
          [](const order::FailBlockedCall& c) {
            return StrCat("FailBlockedCall worker=", c.worker.value());
          },
          [](const order::FetchArguments& c) {
            return StrCat("FetchArguments fetch=", c.fetch.value(), " ",
                          ToString(c.lease), " objects=", c.objects.size());
          },
          [](const order::DropArguments& c) {
            return StrCat("DropArguments fetch=", c.fetch.value());
          },
          [](const order::GrantLease& c) {
            return StrCat("GrantLease ", ToString(c.lease),
                          " worker=", c.worker.value());
          },
          [](const order::ForwardLease& c) {
            return StrCat("ForwardLease ", ToString(c.lease),
                          " node=", c.node.node.value(), "#",
                          c.node.incarnation.value());
          },
          [](const order::RefuseLease& c) {
            return StrCat("RefuseLease ", ToString(c.lease),
                          " reason=", ToString(c.reason),
                          " why=", c.why.ToString());
          },
          [](const order::ReclaimLease& c) {
            return StrCat("ReclaimLease ", ToString(c.lease),
                          " worker=", c.worker.value());
          },
          [](const order::PublishLoad& c) {
            return StrCat("PublishLoad free={", ToString(c.free), "} total={",
                          ToString(c.total), "} queued=", c.queued);
          }},
      command);
}

}  // namespace hoplite::task
