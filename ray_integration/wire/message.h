// Every message between the processes of the task runtime.
//
// A process speaks with agents (its own node's, and those that it asks for
// leases) and with other processes; who sends what stands beside each. Over
// every link the first frame of each side is a Hello.
//
// Thread safety: values; as safe as int.

#ifndef HOPLITE_RAY_INTEGRATION_WIRE_MESSAGE_H_
#define HOPLITE_RAY_INTEGRATION_WIRE_MESSAGE_H_

#include <cstdint>
#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "hoplite/base/id.h"
#include "ray_integration/base/process_id.h"
#include "ray_integration/wire/lease_message.h"
#include "ray_integration/wire/task_message.h"
#include "ray_integration/wire/trace_message.h"
#include "ray_integration/wire/values.h"

namespace hoplite::task {

using Message = std::variant<
    message::Hello, message::Registered, message::LeaseRequest,
    message::LeaseWithdraw, message::LeaseGranted, message::LeaseForwarded,
    message::LeaseRefused, message::LeaseReturn, message::LeaseReclaim,
    message::EndWorker, message::WorkerEnded, message::Blocked,
    message::Resumed, message::Owns, message::Nodes, message::ProcessEnded,
    message::Loads, message::Output, message::Report, message::PushTask,
    message::TaskAnswer, message::TaskReceipt, message::ReturnTasks,
    message::TasksReturned, message::CancelTask, message::Subscribe,
    message::ObjectState, message::Borrow, message::Borrowed, message::Release,
    message::Lost, message::Store, message::WatchActor, message::ActorIs,
    message::KillActor, message::SpansWait, message::Trace>;

// The frame of a message: its number in the variant, and its fields.
std::string ToFrame(const Message& message);
// Errors: kInvalidArgument: not what ToFrame makes.
absl::StatusOr<Message> FromFrame(absl::string_view frame);

}  // namespace hoplite::task

#endif  // HOPLITE_RAY_INTEGRATION_WIRE_MESSAGE_H_
