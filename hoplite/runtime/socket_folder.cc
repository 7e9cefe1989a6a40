#include "hoplite/runtime/socket_folder.h"

#include <dirent.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "hoplite/base/status_macros.h"

namespace hoplite {
namespace {

constexpr absl::string_view kSuffix = ".sock";
constexpr int kBacklog = 1024;

std::string ErrnoText() { return std::strerror(errno); }

absl::StatusOr<sockaddr_un> AddressOf(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path)) {
    return absl::InvalidArgumentError(
        absl::StrCat("the path of a socket has at most ",
                     sizeof(address.sun_path) - 1, " characters, and ", path,
                     " has ", path.size(), ": name a shorter one"));
  }
  std::memcpy(address.sun_path, path.data(), path.size());
  return address;
}

absl::StatusOr<FileDescriptor> NewSocket() {
  FileDescriptor descriptor(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (descriptor) return descriptor;
  return absl::UnavailableError(
      absl::StrCat("cannot make a Unix socket: ", ErrnoText()));
}

const sockaddr* Generic(const sockaddr_un& address) {
  return reinterpret_cast<const sockaddr*>(&address);
}

// 0, or the errno.
int Connect(const FileDescriptor& descriptor, const sockaddr_un& address) {
  const int result =
      connect(descriptor.get(), Generic(address), sizeof(address));
  return result == 0 ? 0 : errno;
}

// What a connection attempt comes to: 0, or the errno.
int Probe(const std::string& path) {
  const auto address = AddressOf(path);
  const auto descriptor = NewSocket();
  if (!address.ok() || !descriptor.ok()) return EINVAL;
  return Connect(*descriptor, *address);
}

// Makes the folder, for this user only; its parents must exist.
absl::Status MakeFolderOf(const std::string& path) {
  const std::string folder = path.substr(0, path.rfind('/'));
  if (folder.empty() || folder == path) return absl::OkStatus();
  if (mkdir(folder.c_str(), S_IRWXU) == 0) return absl::OkStatus();
  struct stat status {};
  if (errno == EEXIST && stat(folder.c_str(), &status) == 0 &&
      S_ISDIR(status.st_mode)) {
    return absl::OkStatus();
  }
  return absl::UnavailableError(absl::StrCat("cannot make the folder ", folder,
                                             " for sockets: ", ErrnoText()));
}

// A folder under /tmp could have been made by anybody.
absl::Status CheckOwner(const std::string& folder) {
  struct stat status {};
  if (stat(folder.c_str(), &status) != 0 || status.st_uid == geteuid()) {
    return absl::OkStatus();
  }
  return absl::UnavailableError(
      absl::StrCat("the folder ", folder,
                   " belongs to another user: set XDG_RUNTIME_DIR, or name "
                   "the node's socket"));
}

// Removes what a dead node has left at `path`, and nothing else.
absl::Status MakeFree(const std::string& path) {
  struct stat status {};
  if (lstat(path.c_str(), &status) != 0 && errno == ENOENT) {
    return absl::OkStatus();
  }
  const int error = Probe(path);
  if (error == 0) {
    return absl::AlreadyExistsError(
        absl::StrCat("a node listens at ", path, " already"));
  }
  if (!S_ISSOCK(status.st_mode)) {
    return absl::UnavailableError(absl::StrCat(
        "cannot listen at ", path, ": what is there is no socket, and stays"));
  }
  if (error != ECONNREFUSED || unlink(path.c_str()) != 0) {
    return absl::UnavailableError(
        absl::StrCat("cannot take the socket ", path, ": ",
                     std::strerror(error != ECONNREFUSED ? error : errno)));
  }
  return absl::OkStatus();
}

}  // namespace

FileDescriptor& FileDescriptor::operator=(FileDescriptor&& other) noexcept {
  Close();
  descriptor_ = std::exchange(other.descriptor_, -1);
  return *this;
}

void FileDescriptor::Close() {
  if (descriptor_ >= 0) close(descriptor_);
  descriptor_ = -1;
}

std::string SocketFolder() {
  const char* runtime = std::getenv("XDG_RUNTIME_DIR");
  if (runtime != nullptr && *runtime == '/') {
    return absl::StrCat(runtime, "/hoplite");
  }
  return absl::StrCat("/tmp/hoplite-", geteuid());
}

absl::StatusOr<FileDescriptor> ListenAtSocket(const std::string& path) {
  static std::atomic<int> last_number = 0;
  HOPLITE_RETURN_IF_ERROR(MakeFolderOf(path));
  if (absl::StartsWith(path, SocketFolder())) {
    HOPLITE_RETURN_IF_ERROR(CheckOwner(SocketFolder()));
  }
  HOPLITE_RETURN_IF_ERROR(MakeFree(path));
  // Under a name of its own until it listens.
  const std::string unfinished =
      absl::StrCat(path, ".", getpid(), ".", ++last_number);
  HOPLITE_ASSIGN_OR_RETURN(const sockaddr_un address, AddressOf(unfinished));
  HOPLITE_ASSIGN_OR_RETURN(FileDescriptor listener, NewSocket());
  unlink(unfinished.c_str());
  if (bind(listener.get(), Generic(address), sizeof(address)) == 0 &&
      chmod(unfinished.c_str(), S_IRUSR | S_IWUSR) == 0 &&
      listen(listener.get(), kBacklog) == 0 &&
      link(unfinished.c_str(), path.c_str()) == 0) {  // replaces nothing
    unlink(unfinished.c_str());
    return listener;
  }
  absl::Status status = absl::UnavailableError(
      absl::StrCat("cannot listen at ", path, ": ", ErrnoText()));
  unlink(unfinished.c_str());
  return status;
}

absl::StatusOr<FileDescriptor> ConnectToSocket(const std::string& path) {
  HOPLITE_ASSIGN_OR_RETURN(const sockaddr_un address, AddressOf(path));
  HOPLITE_ASSIGN_OR_RETURN(FileDescriptor descriptor, NewSocket());
  const int error = Connect(descriptor, address);
  if (error == 0) return descriptor;
  return absl::UnavailableError(
      absl::StrCat("no node answers at ", path, ": ", std::strerror(error)));
}

std::vector<std::string> FindLiveSockets(const std::string& folder) {
  std::vector<std::string> live;
  DIR* const listing = opendir(folder.c_str());
  if (listing == nullptr) return live;
  while (const dirent* entry = readdir(listing)) {
    if (!absl::EndsWith(entry->d_name, kSuffix)) continue;
    const std::string path = absl::StrCat(folder, "/", entry->d_name);
    switch (Probe(path)) {
      case 0:
        live.push_back(path);
        break;
      case ECONNREFUSED:
        unlink(path.c_str());
        break;
      default:  // somebody else's
        break;
    }
  }
  closedir(listing);
  std::ranges::sort(live);
  return live;
}

absl::StatusOr<std::string> FindNodeSocket() {
  const char* named = std::getenv("HOPLITE_NODE");
  if (named != nullptr && *named != '\0') return std::string(named);
  const std::string folder = SocketFolder();
  const std::vector<std::string> live = FindLiveSockets(folder);
  if (live.size() == 1) return live.front();
  if (live.empty()) {
    return absl::UnavailableError(absl::StrCat(
        "no node runs on this host (no socket in ", folder,
        "): start one with `hoplite start --head`, or name its socket"));
  }
  return absl::FailedPreconditionError(
      absl::StrCat("several nodes run on this host: name one by --node or "
                   "HOPLITE_NODE: ",
                   absl::StrJoin(live, ", ")));
}

}  // namespace hoplite
