// `hoplited …` is `hoplite start …`.

#include "hoplite/cli/commands.h"

int main(int argc, char** argv) {
  return hoplite::cli::StartCommand(argc, argv);
}
