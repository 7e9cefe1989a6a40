// A node that hosts every shard, and what other nodes tell it.
//
// The host is node 1. Each act keeps its commands in `out`.
//
// Thread safety: none; one thread at a time.

#ifndef HOPLITE_CORE_TESTING_DIRECTORY_HOST_H_
#define HOPLITE_CORE_TESTING_DIRECTORY_HOST_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "hoplite/base/id_prefix.h"
#include "hoplite/core/directory/object_directory.h"
#include "hoplite/core/testing/commands.h"
#include "hoplite/core/testing/values.h"

namespace hoplite::testing {

class DirectoryHost {
 public:
  static constexpr std::uint32_t kSelf = 1;
  static constexpr std::uint64_t kLarge = 64 << 20;  // goes through a chain

  explicit DirectoryHost(Schedule schedule = Schedule::kHoplite);

  ShardRef AtShardOf(const ObjectId& object) const {
    return shard_map.FindFor(object).at;
  }
  template <typename M>
  void Tell(std::uint32_t from, M message) {
    out.clear();
    if constexpr (requires { message.object; }) {
      message.at = AtShardOf(message.object);
    } else if constexpr (requires { message.at; }) {
      message.at = AtShardOf(message.target);
    }
    directory.On(now, Ref(from), message, out);
  }

  void Ask(std::uint32_t node, const ObjectId& object, std::uint64_t ask = 1,
           std::uint32_t lost = 0, Generation held = {},
           std::uint64_t begin = 0) {
    Tell(node, message::Ask{.object = object,
                            .ask = AskNumber(ask),
                            .held = held,
                            .begin = begin,
                            .lost = lost == 0 ? NodeRef() : Ref(lost)});
  }
  void Withdraw(std::uint32_t node, const ObjectId& object,
                std::uint64_t ask = 1) {
    Tell(node, message::Withdraw{.object = object, .ask = AskNumber(ask)});
  }
  void Complete(std::uint32_t node, const ObjectId& object,
                Generation generation) {
    Tell(node,
         message::CopyComplete{.object = object, .generation = generation});
  }
  // The node's Put begins, and is sealed where all bytes are written.
  void PutBegins(std::uint32_t node, const ObjectId& object,
                 std::uint64_t size = kLarge, bool sealed = false) {
    Tell(node, message::PutBegun{.object = object,
                                 .generation = PutOf(node),
                                 .size = size,
                                 .sealed = sealed});
  }
  void Put(std::uint32_t node, const ObjectId& object,
           std::uint64_t size = kLarge) {
    PutBegins(node, object, size, /*sealed=*/true);
  }
  void PutStream(std::uint32_t node, const ObjectId& object,
                 std::uint64_t size = kLarge) {
    Tell(node, message::PutBegun{.object = object,
                                 .generation = PutOf(node),
                                 .size = size,
                                 .streams = true});
  }
  void PutSmall(std::uint32_t node, const ObjectId& object,
                const std::string& bytes = "small") {
    Tell(node, message::PutBegun{.object = object,
                                 .generation = PutOf(node),
                                 .size = bytes.size(),
                                 .sealed = true,
                                 .payload = MakePayload(bytes)});
  }
  void Seal(std::uint32_t node, const ObjectId& object) {
    Tell(node, message::PutSealed{.object = object, .generation = PutOf(node)});
  }
  void Abort(std::uint32_t node, const ObjectId& object) {
    Tell(node,
         message::PutAborted{.object = object, .generation = PutOf(node)});
  }
  void Delete(std::uint32_t node, const ObjectId& object,
              std::uint64_t request = 1) {
    Tell(node,
         message::DeleteAsk{.object = object, .request = RequestId(request)});
  }
  void EndPrefix(const IdPrefix& prefix) {
    out.clear();
    directory.OnPrefixEnded(now, prefix, out);
  }
  void Dropped(std::uint32_t node, const ObjectId& object,
               Generation generation) {
    Tell(node, message::Dropped{.object = object, .generation = generation});
  }
  bool Evict(std::uint32_t node, const ObjectId& object,
             Generation generation) {
    return directory.Evict(Ref(node), {AtShardOf(object), object, generation});
  }
  void Lose(std::uint32_t node) {
    out.clear();
    directory.OnNodeLost(now, Ref(node), out);
  }
  void PassTime(absl::Duration duration) {
    now += duration;
    out.clear();
    directory.HandleTimeout(now, out);
  }
  // Runs what the host has told itself, and what comes of that.
  void Settle();

  // Whom a node was granted just now; 0 where it was not.
  std::uint32_t ServerOf(std::uint32_t node) const {
    const auto grant = OnlySent<message::Grant>(out, Ref(node));
    return grant.has_value() ? grant->server.node.value() : 0;
  }

  absl::Time now = At(0);
  ShardMap shard_map = AllShardsOn(Ref(kSelf));
  ObjectDirectory directory;
  Commands out;

 private:
  void Hear(const Message& message, Commands& next);
};

}  // namespace hoplite::testing

#endif  // HOPLITE_CORE_TESTING_DIRECTORY_HOST_H_
