// A file descriptor that closes itself, and the kinds that processes share.
//
// Thread safety: none; one thread at a time for each descriptor.

#ifndef HOPLITE_TESTBED_DESCRIPTOR_H_
#define HOPLITE_TESTBED_DESCRIPTOR_H_

#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace hoplite::testbed {

// Closes its descriptor when it goes; -1 is none.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept
      : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept;
  ~Descriptor() { Close(); }

  int number() const { return number_; }
  bool is_open() const { return number_ >= 0; }
  void Close();

 private:
  int number_ = -1;
};

struct PipeEnds {
  Descriptor read;
  Descriptor write;
};

// Both ends are closed on exec.
//
// Errors: kResourceExhausted without free descriptors.
absl::StatusOr<PipeEnds> MakePipe();

// An empty file in memory, closed on exec, positioned at its begin.
//
// Errors: kResourceExhausted without free descriptors or memory.
absl::StatusOr<Descriptor> MakeMemoryFile(absl::string_view content);

// The whole content of a memory file, wherever it is positioned.
std::string MemoryFileText(int file);

// Waits until `descriptor` can be read or its other end is closed; false
// where the deadline passes first.
bool WaitUntilReadable(int descriptor, absl::Time deadline);

}  // namespace hoplite::testbed

#endif  // HOPLITE_TESTBED_DESCRIPTOR_H_
