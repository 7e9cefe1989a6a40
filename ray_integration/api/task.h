// Tasks, actors and objects over Hoplite: all that a program includes.
//
//   int Plus(int a, int b) { return a + b; }
//   HOPLITE_REMOTE(Plus);
//
//   int main(int argc, char** argv) {
//     absl::Status started = task::Init(argc, argv);
//     if (!started.ok()) ...
//     task::ObjectRef<int> sum = task::Remote(Plus, 1, 2);
//     absl::StatusOr<task::Value<int>> got = task::Get(sum);
//
// A program links //ray_integration/worker:init.
//
// Thread safety: thread-safe after Init and before Shutdown.

#ifndef HOPLITE_RAY_INTEGRATION_API_TASK_H_
#define HOPLITE_RAY_INTEGRATION_API_TASK_H_

#include "ray_integration/api/actor_ref.h"
#include "ray_integration/api/fields.h"
#include "ray_integration/api/init.h"
#include "ray_integration/api/object_ref.h"
#include "ray_integration/api/objects.h"
#include "ray_integration/api/options.h"
#include "ray_integration/api/register.h"
#include "ray_integration/api/remote.h"
#include "ray_integration/api/value_view.h"

#endif  // HOPLITE_RAY_INTEGRATION_API_TASK_H_
