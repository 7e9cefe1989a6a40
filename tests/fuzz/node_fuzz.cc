// A node among peers who lie: no CHECK fires, its invariants hold, and it
// orders nothing that its driver may not do.

#include <cstddef>
#include <cstdint>

#include "tests/fuzz/fuzz_input.h"
#include "tests/fuzz/fuzzed_driver.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  hoplite::fuzz::FuzzInput input(data, size);
  hoplite::fuzz::FuzzedDriver(input).Run();
  return 0;
}
