// What every program of the command line does first.
//
// Thread safety: once, before other threads are started.

#ifndef HOPLITE_CLI_PROGRAM_H_
#define HOPLITE_CLI_PROGRAM_H_

namespace hoplite::cli {

// Gives the standard descriptors that are closed to /dev/null, so that no file
// takes their place: to read from the one, to write to the others, is an error.
// Sends the log to standard error: standard output has results only. Under
// `bazel run` it goes to the folder where that was called, so that relative
// paths mean what the caller meant.
void PrepareProgram();

}  // namespace hoplite::cli

#endif  // HOPLITE_CLI_PROGRAM_H_
