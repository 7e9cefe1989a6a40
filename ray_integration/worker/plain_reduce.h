// Reduce without Hoplite's: one task that fetches every source and folds them,
// as a system without collectives does it.
//
// Thread safety: thread-safe.

#ifndef HOPLITE_RAY_INTEGRATION_WORKER_PLAIN_REDUCE_H_
#define HOPLITE_RAY_INTEGRATION_WORKER_PLAIN_REDUCE_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "hoplite/base/reduction.h"
#include "ray_integration/api/runtime.h"

namespace hoplite::task {

// The name of the function.
inline constexpr char kPlainReduce[] = "hoplite.Reduce";

// Its call. REQUIRES: count <= sources.size(), where there is one.
Call PlainReduceCall(const std::vector<Reference>& sources, ReduceOp op,
                     DataType type, std::optional<std::uint32_t> count);
// Makes it known to this process, in which `runtime` runs it. `set_reduced` is
// told which sources went in.
void RegisterPlainReduce(
    Runtime& runtime, std::function<void(std::vector<ObjectId>)> set_reduced);

}  // namespace hoplite::task

#endif  // HOPLITE_RAY_INTEGRATION_WORKER_PLAIN_REDUCE_H_
