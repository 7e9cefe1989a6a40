#include "apps/parameter_server/checkpoint.h"

#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "hoplite/base/status_macros.h"
#include "hoplite/cli/files.h"

namespace hoplite::apps {
namespace {

// Of this machine's byte order: the file goes to no other kind.
struct Header {
  char magic[8];
  std::int64_t updates;
  std::uint64_t weights;
};

constexpr char kMagic[8] = {'h', 'o', 'p', 'w', 'g', 't', 's', '1'};
constexpr std::uint64_t kBytesMax = std::uint64_t{8} << 30;

}  // namespace

absl::Status WriteCheckpoint(const std::string& path, std::int64_t updates,
                             std::span<const float> weights) {
  Header header = {.magic = {}, .updates = updates, .weights = weights.size()};
  std::memcpy(header.magic, kMagic, sizeof(kMagic));
  std::vector<std::byte> bytes(sizeof(header) + weights.size_bytes());
  std::memcpy(bytes.data(), &header, sizeof(header));
  if (!weights.empty()) {
    std::memcpy(bytes.data() + sizeof(header), weights.data(),
                weights.size_bytes());
  }
  return cli::WriteFile(path, bytes);
}

absl::StatusOr<std::optional<Checkpoint>> ReadCheckpoint(
    const std::string& path) {
  if (access(path.c_str(), F_OK) != 0) return std::nullopt;
  HOPLITE_ASSIGN_OR_RETURN(const cli::Descriptor file,
                           cli::OpenForReading(path));
  HOPLITE_ASSIGN_OR_RETURN(
      const std::string bytes,
      cli::ReadUntilEnd(file.number(), kBytesMax, absl::InfiniteFuture()));
  Header header = {};
  if (bytes.size() >= sizeof(header)) {
    std::memcpy(&header, bytes.data(), sizeof(header));
  }
  const std::size_t weights_bytes =
      bytes.size() - std::min(bytes.size(), sizeof(header));
  if (std::memcmp(header.magic, kMagic, sizeof(kMagic)) != 0 ||
      header.updates < 0 || weights_bytes % sizeof(float) != 0 ||
      header.weights != weights_bytes / sizeof(float)) {
    return absl::DataLossError(absl::StrCat(
        path, " is no checkpoint of weights: name another file, or remove it"));
  }
  Checkpoint checkpoint{.updates = header.updates,
                        .weights = std::vector<float>(header.weights)};
  if (weights_bytes > 0) {
    std::memcpy(checkpoint.weights.data(), bytes.data() + sizeof(header),
                weights_bytes);
  }
  return checkpoint;
}

}  // namespace hoplite::apps
