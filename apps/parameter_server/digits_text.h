// The text of data/digits.txt, which the build puts into the program: so it
// is there on whatever host a worker runs.
//
// Thread safety: thread-safe.

#ifndef HOPLITE_APPS_PARAMETER_SERVER_DIGITS_TEXT_H_
#define HOPLITE_APPS_PARAMETER_SERVER_DIGITS_TEXT_H_

#include "absl/strings/string_view.h"

namespace hoplite::apps {

absl::string_view DigitsText();

}  // namespace hoplite::apps

#endif  // HOPLITE_APPS_PARAMETER_SERVER_DIGITS_TEXT_H_
