// The commands of `hoplite`; each takes its own argv and returns an exit code.
//
// Thread safety: one thread, once each.

#ifndef HOPLITE_CLI_COMMANDS_H_
#define HOPLITE_CLI_COMMANDS_H_

namespace hoplite::cli {

int StartCommand(int argc, char** argv);
int StatusCommand(int argc, char** argv);
int TraceCommand(int argc, char** argv);
int PutCommand(int argc, char** argv);
int GetCommand(int argc, char** argv);
int DeleteCommand(int argc, char** argv);
int ReduceCommand(int argc, char** argv);
int BenchCommand(int argc, char** argv);
int ReplayCommand(int argc, char** argv);
int ChaosCommand(int argc, char** argv);

}  // namespace hoplite::cli

#endif  // HOPLITE_CLI_COMMANDS_H_
