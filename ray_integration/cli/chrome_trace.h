// Writes what has run on a cluster in Chrome's trace format, which Perfetto and
// chrome://tracing open.
//
// A node is a process, each of its workers a thread; what was pulled into the
// node is on threads of its own, as many as transfers went on at a time. An
// arrow goes from a task to whatever used its result.
//
// https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU
//
// Thread safety: a pure function.
// Units: microseconds since the first of all begins.

#ifndef HOPLITE_RAY_INTEGRATION_CLI_CHROME_TRACE_H_
#define HOPLITE_RAY_INTEGRATION_CLI_CHROME_TRACE_H_

#include <string>
#include <vector>

#include "ray_integration/agent/node_trace.h"

namespace hoplite::task {

// One JSON object. Its events stand in the order of their times, behind the
// names of processes and threads.
std::string ChromeTrace(const std::vector<NodeTrace>& nodes);

}  // namespace hoplite::task

#endif  // HOPLITE_RAY_INTEGRATION_CLI_CHROME_TRACE_H_
