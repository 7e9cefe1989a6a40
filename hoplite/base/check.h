// HOPLITE_CHECK stops the program when one of our own invariants is broken.
//
// Only for mistakes of this program. What a peer, a user or the system may do
// is an event or an absl::Status, never a CHECK.
//
// Thread safety: thread-safe.

#ifndef HOPLITE_BASE_CHECK_H_
#define HOPLITE_BASE_CHECK_H_

#include <cstdio>
#include <cstdlib>

// Always on, in every build.
#define HOPLITE_CHECK(condition)                                        \
  do {                                                                  \
    if (!(condition)) [[unlikely]] {                                    \
      ::hoplite::internal::CheckFailed(__FILE__, __LINE__, #condition); \
    }                                                                   \
  } while (false)

// For hot paths: on unless NDEBUG.
#ifdef NDEBUG
#define HOPLITE_DCHECK(condition) \
  do {                            \
  } while (false && (condition))
#else
#define HOPLITE_DCHECK(condition) HOPLITE_CHECK(condition)
#endif

namespace hoplite::internal {

[[noreturn]] inline void CheckFailed(const char* file, int line,
                                     const char* condition) {
  std::fprintf(stderr, "%s:%d: CHECK failed: %s\n", file, line, condition);
  std::fflush(stderr);
  std::abort();
}

}  // namespace hoplite::internal

#endif  // HOPLITE_BASE_CHECK_H_
