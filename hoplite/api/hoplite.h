// Client puts, gets, deletes and reduces the objects of a cluster.
//
//   auto client = hoplite::Client::Connect();            // StatusOr
//   (*client)->Put(id, bytes);
//   auto buffer = (*client)->Get(id, {.timeout = absl::Seconds(5)});
//
// There are four calls. Broadcast is many Gets of one object; gather is one
// client that gets many; allgather everybody that gets many; allreduce is one
// Reduce, and everybody's Get of its target.
//
// Each call blocks, or has a form that returns a Future. None takes longer
// than its timeout. An error names operation, object, nodes, bytes done, the
// time taken and the deadline. All calls may end with
//   kDeadlineExceeded   the timeout has passed
//   kUnavailable        the node or the directory cannot be reached
//   kCancelled          Future::Cancel, or Shutdown of client or node
//   kInvalidArgument    an id of zeros, or what the call says
//
// Thread safety: thread-safe.
// Units: bytes.

#ifndef HOPLITE_API_HOPLITE_H_
#define HOPLITE_API_HOPLITE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "hoplite/api/buffer.h"
#include "hoplite/api/future.h"
#include "hoplite/base/id.h"
#include "hoplite/base/reduction.h"
#include "hoplite/runtime/node_options.h"
#include "hoplite/runtime/node_report.h"

namespace hoplite {

class Backend;
class PutWriter;

struct CallOptions {
  absl::Duration timeout = absl::InfiniteDuration();
};
struct CreateOptions {
  absl::Duration timeout = absl::InfiniteDuration();  // until Seal returns
  // Reductions may take it as a source from its first bytes on, before Seal.
  bool streams = false;
};
struct ReduceOptions {
  ReduceOp op = ReduceOp::kSum;
  DataType type = DataType::kF32;
  // How many sources, the first to be ready, go in; none: all.
  std::optional<std::uint32_t> count = std::nullopt;
  absl::Duration timeout = absl::InfiniteDuration();
};
struct ReduceResult {
  std::vector<ObjectId> sources;  // that went in, in order of their ids
};

class Client {
 public:
  // A client of a node that runs on this host: by the path of its socket;
  // empty: $HOPLITE_NODE, else the only node on this host.
  // Errors: kUnavailable: nothing listens there, or no node runs here.
  // kDeadlineExceeded: no answer within the timeout, or 5 s.
  // kFailedPrecondition: several nodes run here, or another version.
  static absl::StatusOr<std::unique_ptr<Client>> Connect(
      absl::string_view socket_path = "", CallOptions options = {});
  // A client with a node of its own in this process, which ends with it.
  // Errors: kUnavailable: it cannot listen or join; kDeadlineExceeded: the
  // head did not answer in time; kResourceExhausted: no memory for its store.
  static absl::StatusOr<std::unique_ptr<Client>> Embed(
      const NodeOptions& options);
  // As Shutdown does.
  ~Client();

  // Copies `data` into the store under `id`; done when the object is complete
  // and the directory has accepted it.
  // Errors: kAlreadyExists; kNotFound: the id is deleted; kResourceExhausted:
  // larger than the store, or no room came. An object of up to 64 KiB may have
  // been put although its call was cancelled or its timeout has passed.
  // Ownership: PutAsync reads `data` until its future is ready.
  absl::Status Put(const ObjectId& id, std::span<const std::byte> data,
                   CallOptions options = {});
  Future<void> PutAsync(const ObjectId& id, std::span<const std::byte> data,
                        CallOptions options = {});

  // Room for an object to be written in place; blocks until there is some.
  // Errors: as Put.
  absl::StatusOr<WritableBuffer> Create(const ObjectId& id, std::uint64_t size,
                                        CreateOptions options = {});

  // The object, where it lies in this node's store; waits until it is put.
  // Errors: kNotFound: deleted; kDataLoss: every copy is lost;
  // kResourceExhausted: larger than this node's store, or no room came.
  absl::StatusOr<Buffer> Get(const ObjectId& id, CallOptions options = {});
  Future<Buffer> GetAsync(const ObjectId& id, CallOptions options = {});

  // Done when no node serves the object any more; buffers that are held stay
  // readable, and their memory comes back with them. The id stays taken, for
  // ten minutes or until there are thousands of newer such ids. An object that
  // is waited for, by Gets or a Reduce, may be deleted before it is put.
  // Errors: kNotFound: there is no such object, and nobody waits for it, or it
  // is deleted already.
  absl::Status Delete(const ObjectId& id, CallOptions options = {});
  Future<void> DeleteAsync(const ObjectId& id, CallOptions options = {});

  // Makes `target` the reduction of the first `count` sources to be ready;
  // they need not exist yet, and may be targets themselves. Done when the
  // target can never change. A deadline ends the waiting, not the reduction;
  // Delete of the target ends that.
  // Errors: kInvalidArgument: no source, or the same one twice, a count of 0
  // or above their number, an operation that the type has not, sizes that
  // differ; kResourceExhausted: more than kReduceSourcesMax sources;
  // kAlreadyExists: the target is put, or is another reduction's that has not
  // failed; kNotFound: the target is deleted, or so many sources that `count`
  // cannot be reached; kDataLoss.
  absl::StatusOr<ReduceResult> Reduce(const ObjectId& target,
                                      std::span<const ObjectId> sources,
                                      ReduceOptions options = {});
  Future<ReduceResult> ReduceAsync(const ObjectId& target,
                                   std::span<const ObjectId> sources,
                                   ReduceOptions options = {});

  // The node, as it is now. Not from a callback. Errors: kDeadlineExceeded: no
  // answer within the timeout, or 5 s.
  absl::StatusOr<NodeReport> Report(CallOptions options = {});

  // Ends every call with kCancelled, within a second, and refuses new ones; an
  // embedded node leaves its cluster. Not from a callback.
  void Shutdown();

  // For Connect and Embed only.
  explicit Client(std::shared_ptr<Backend> backend);

 private:
  const std::shared_ptr<Backend> backend_;
  const std::shared_ptr<PutWriter> writer_;  // fills what PutAsync puts
};

}  // namespace hoplite

#endif  // HOPLITE_API_HOPLITE_H_
