// The Unix sockets by which the workers of a host find its nodes.
//
// They lie in one folder of the user's: $XDG_RUNTIME_DIR/hoplite, or else
// /tmp/hoplite-UID. A node listens first and then gives its socket its name,
// so whatever has a name and refuses connections was left by a dead node.
//
// Thread safety: thread-safe.

#ifndef HOPLITE_RUNTIME_SOCKET_FOLDER_H_
#define HOPLITE_RUNTIME_SOCKET_FOLDER_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace hoplite {

// A file descriptor of our own; -1 is none.
class FileDescriptor {
 public:
  FileDescriptor() = default;
  explicit FileDescriptor(int descriptor) : descriptor_(descriptor) {}
  FileDescriptor(FileDescriptor&& other) noexcept
      : descriptor_(std::exchange(other.descriptor_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept;
  ~FileDescriptor() { Close(); }

  int get() const { return descriptor_; }
  explicit operator bool() const { return descriptor_ >= 0; }
  void Close();

 private:
  int descriptor_ = -1;
};

// The user's folder for sockets; it may not exist yet.
std::string SocketFolder();

// A socket that listens at `path`, which is made with its folder; one that
// nobody listens at is replaced. Others than the user may not connect.
// Errors: kAlreadyExists: a node listens there. kInvalidArgument: too long for
// a socket's path. kUnavailable: what is there is no socket, or the system
// says no, and why.
absl::StatusOr<FileDescriptor> ListenAtSocket(const std::string& path);

// Errors: kUnavailable: nobody listens there. kInvalidArgument: too long.
absl::StatusOr<FileDescriptor> ConnectToSocket(const std::string& path);

// The sockets of the folder that a node listens at, sorted; removes those that
// dead nodes have left.
std::vector<std::string> FindLiveSockets(const std::string& folder);

// The socket of the only node on this host: $HOPLITE_NODE if set, else the
// only one in SocketFolder(). Errors: kUnavailable: there is none.
// kFailedPrecondition: there are several, which are named.
absl::StatusOr<std::string> FindNodeSocket();

}  // namespace hoplite

#endif  // HOPLITE_RUNTIME_SOCKET_FOLDER_H_
