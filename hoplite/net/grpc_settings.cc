#include "hoplite/net/grpc_settings.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "hoplite/wire/codec.h"

namespace hoplite {
namespace {

// A batch, and what protobuf adds around it.
constexpr int kMessageBytesMax = static_cast<int>(wire::kMaxBatchBytes) + 1024;
// So much is on its way before the receiver has to ask for more: several
// batches, so that no write waits for a window.
constexpr int kWindowBytes = 4 << 20;
// A peer whose machine is gone, so that its sockets never close, is noticed
// after the two together.
constexpr int kKeepaliveMilliseconds = 10000;
constexpr int kKeepaliveTimeoutMilliseconds = 5000;

// `set(name, value)` for each setting that both ends share.
template <typename Set>
void SetShared(Set set) {
  set(GRPC_ARG_KEEPALIVE_TIME_MS, kKeepaliveMilliseconds);
  set(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kKeepaliveTimeoutMilliseconds);
  // Keepalive goes on while nothing is said, and is not taken for an attack.
  set(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  set(GRPC_ARG_HTTP2_MAX_PING_STRIKES, 0);
  set(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 1000);
  // Windows are fixed and large: no probing of the link beside the messages.
  set(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  set(GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES, kWindowBytes);
  set(GRPC_ARG_ENABLE_CHANNELZ, 0);
}

}  // namespace

std::shared_ptr<grpc::Channel> MakeChannel(const HostPort& address) {
  grpc::ChannelArguments arguments;
  SetShared(
      [&](const char* name, int value) { arguments.SetInt(name, value); });
  arguments.SetMaxReceiveMessageSize(kMessageBytesMax);
  arguments.SetMaxSendMessageSize(kMessageBytesMax);
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  // Nodes are reached directly, whatever the environment says about the web.
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetInt(GRPC_ARG_SERVICE_CONFIG_DISABLE_RESOLUTION, 1);
  return grpc::CreateCustomChannel(
      ToGrpcTarget(address), grpc::InsecureChannelCredentials(), arguments);
}

void ApplyServerSettings(grpc::ServerBuilder& builder) {
  SetShared([&](const char* name, int value) {
    builder.AddChannelArgument(name, value);
  });
  // Two processes on one port would share its connections by chance.
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  builder.SetMaxReceiveMessageSize(kMessageBytesMax);
  builder.SetMaxSendMessageSize(kMessageBytesMax);
}

std::string ToGrpcTarget(const HostPort& address) {
  if (address.is_ipv4()) return absl::StrCat("ipv4:", address.ToString());
  if (address.is_ipv6()) {
    return absl::StrCat("ipv6:%5B",
                        absl::StrReplaceAll(address.host, {{"%", "%25"}}),
                        "%5D:", address.port);
  }
  return absl::StrCat("dns:///", address.ToString());
}

}  // namespace hoplite

#ifdef __SANITIZE_THREAD__
// An operation is begun in one thread and finished in the one that polls. Half
// of that code is gRPC's templates, which ThreadSanitizer sees here; what
// orders the halves is in gRPC's library, which comes built, unseen.
extern "C" const char* __tsan_default_suppressions();
extern "C" const char* __tsan_default_suppressions() {
  return "race:grpc::internal::CallOp\n"
         "race:grpc::CompletionQueue::AsyncNextInternal\n"
         "race:grpc::ServerInterface::\n";
}
#endif

#ifdef __SANITIZE_ADDRESS__
// What c-ares reads of the system's configuration and does not give back.
extern "C" const char* __lsan_default_suppressions();
extern "C" const char* __lsan_default_suppressions() {
  return "leak:libcares.so\n";
}
#endif
