// Any bytes as the log of a node: an error, or steps that the core can take.

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "hoplite/base/check.h"
#include "hoplite/runtime/replay.h"
#include "hoplite/wire/event_log.h"
#include "tests/fuzz/fuzz_input.h"

namespace hoplite::fuzz {
namespace {

// What was read is written as it stood.
void ReadAndWrite(absl::string_view log) {
  std::string written(kLogMagic);
  LogReader reader(log);
  for (;;) {
    const auto record = reader.Next();
    if (!record.ok()) return;
    if (!record->has_value()) break;
    HOPLITE_CHECK(AppendLogRecord(**record, written));
  }
  LogReader again(written);
  for (;;) {
    const auto record = again.Next();
    HOPLITE_CHECK(record.ok());
    if (!record->has_value()) break;
  }
}

}  // namespace
}  // namespace hoplite::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  const absl::string_view bytes(reinterpret_cast<const char*>(data), size);
  // No fuzzer needs to find the magic.
  const std::string log = std::string(hoplite::kLogMagic) + std::string(bytes);
  hoplite::fuzz::ReadAndWrite(log);
  static_cast<void>(hoplite::Replay(log));
  static_cast<void>(hoplite::Replay(bytes));
  return 0;
}
