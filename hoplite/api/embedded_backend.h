// EmbeddedBackend is a node in the client's own process.
//
// Thread safety: thread-safe.

#ifndef HOPLITE_API_EMBEDDED_BACKEND_H_
#define HOPLITE_API_EMBEDDED_BACKEND_H_

#include <memory>

#include "hoplite/api/backend.h"
#include "hoplite/runtime/node_server.h"

namespace hoplite {

class EmbeddedBackend final : public Backend {
 public:
  explicit EmbeddedBackend(std::unique_ptr<NodeServer> node)
      : node_(std::move(node)) {}

  RequestId NewRequest() override { return node_->NewRequest(); }
  void Submit(Event event, std::shared_ptr<CallObserver> observer) override;
  void Cancel(RequestId request) override { node_->Cancel(request); }
  absl::StatusOr<NodeReport> Report(absl::Duration /*timeout*/) override {
    return node_->Report();
  }
  void Shutdown() override { node_->Stop(); }

 private:
  const std::unique_ptr<NodeServer> node_;
};

}  // namespace hoplite

#endif  // HOPLITE_API_EMBEDDED_BACKEND_H_
