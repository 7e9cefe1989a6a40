#include "hoplite/testbed/descriptor.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

namespace hoplite::testbed {

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  if (this != &other) {
    Close();
    number_ = std::exchange(other.number_, -1);
  }
  return *this;
}

void Descriptor::Close() {
  if (is_open()) close(std::exchange(number_, -1));
}

absl::StatusOr<PipeEnds> MakePipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) {
    return absl::ResourceExhaustedError(
        absl::StrCat("cannot make a pipe: ", std::strerror(errno)));
  }
  return PipeEnds{.read = Descriptor(ends[0]), .write = Descriptor(ends[1])};
}

absl::StatusOr<Descriptor> MakeMemoryFile(absl::string_view content) {
  Descriptor file(memfd_create("testbed", MFD_CLOEXEC));
  if (!file.is_open() || pwrite(file.number(), content.data(), content.size(),
                                0) != static_cast<ssize_t>(content.size())) {
    return absl::ResourceExhaustedError(
        absl::StrCat("cannot make a file in memory: ", std::strerror(errno)));
  }
  return file;
}

std::string MemoryFileText(int file) {
  std::string text;
  char part[4096];
  while (true) {
    const ssize_t size =
        pread(file, part, sizeof(part), static_cast<off_t>(text.size()));
    if (size <= 0) return text;
    text.append(part, static_cast<std::size_t>(size));
  }
}

bool WaitUntilReadable(int descriptor, absl::Time deadline) {
  while (true) {
    int milliseconds = -1;
    if (deadline != absl::InfiniteFuture()) {
      const absl::Duration left = std::clamp(
          deadline - absl::Now(), absl::ZeroDuration(), absl::Hours(1));
      milliseconds = static_cast<int>(
          absl::ToInt64Milliseconds(left + absl::Microseconds(999)));
    }
    pollfd entry = {.fd = descriptor, .events = POLLIN, .revents = 0};
    if (poll(&entry, 1, milliseconds) > 0) return true;
    if (absl::Now() >= deadline) return false;
  }
}

}  // namespace hoplite::testbed
