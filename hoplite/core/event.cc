#include "hoplite/core/event.h"

#include <string>

#include "hoplite/core/debug_print.h"
#include "hoplite/core/event_fields.h"

namespace hoplite {

std::string DebugString(const Event& event) {
  return debug_print::NameAndFields(event);
}

}  // namespace hoplite
