#include "hoplite/core/command.h"

#include <string>

#include "hoplite/core/command_fields.h"
#include "hoplite/core/debug_print.h"

namespace hoplite {

std::string DebugString(const Command& command) {
  return debug_print::NameAndFields(command);
}

}  // namespace hoplite
