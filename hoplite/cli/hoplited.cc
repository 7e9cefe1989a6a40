// `hoplited …` is `hoplite start …`.

#include "hoplite/cli/commands.h"
#include "hoplite/cli/program.h"

int main(int argc, char** argv) {
  hoplite::cli::PrepareProgram();
  return hoplite::cli::StartCommand(argc, argv);
}
