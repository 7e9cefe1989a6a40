// What a fuzzer is: a function over bytes that returns, whatever they are.
//
// Thread safety: none; one thread at a time.

#ifndef HOPLITE_TESTS_FUZZ_FUZZ_INPUT_H_
#define HOPLITE_TESTS_FUZZ_FUZZ_INPUT_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

// Defined by each fuzzer, called by libFuzzer and by corpus_test. Returns 0.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size);

namespace hoplite::fuzz {

// The input, taken from its begin; zeros where it has ended.
class FuzzInput {
 public:
  FuzzInput(const std::uint8_t* data, std::size_t size) : rest_(data, size) {}

  bool empty() const { return rest_.empty(); }
  std::uint8_t Byte() {
    if (rest_.empty()) return 0;
    const std::uint8_t byte = rest_.front();
    rest_ = rest_.subspan(1);
    return byte;
  }
  // A number below `bound`, which is at most 256.
  std::size_t Below(std::size_t bound) { return Byte() % bound; }
  // The next bytes, as many as there are of `count`.
  std::span<const std::uint8_t> Bytes(std::size_t count) {
    const auto taken = rest_.first(std::min(count, rest_.size()));
    rest_ = rest_.subspan(taken.size());
    return taken;
  }

 private:
  std::span<const std::uint8_t> rest_;
};

}  // namespace hoplite::fuzz

#endif  // HOPLITE_TESTS_FUZZ_FUZZ_INPUT_H_
