// Returns early with an error: the usual two macros.
//
// Thread safety: thread-safe.

#ifndef HOPLITE_BASE_STATUS_MACROS_H_
#define HOPLITE_BASE_STATUS_MACROS_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#define HOPLITE_RETURN_IF_ERROR(expression)          \
  do {                                               \
    absl::Status hoplite_status = (expression);      \
    if (!hoplite_status.ok()) return hoplite_status; \
  } while (false)

#define HOPLITE_CONCAT_INNER(a, b) a##b
#define HOPLITE_CONCAT(a, b) HOPLITE_CONCAT_INNER(a, b)

// HOPLITE_ASSIGN_OR_RETURN(auto value, MakeValue());
#define HOPLITE_ASSIGN_OR_RETURN(target, expression)                           \
  HOPLITE_ASSIGN_OR_RETURN_IMPL(HOPLITE_CONCAT(hoplite_or_, __LINE__), target, \
                                expression)
#define HOPLITE_ASSIGN_OR_RETURN_IMPL(result, target, expression) \
  auto result = (expression);                                     \
  if (!result.ok()) return std::move(result).status();            \
  target = std::move(result).value()

#endif  // HOPLITE_BASE_STATUS_MACROS_H_
