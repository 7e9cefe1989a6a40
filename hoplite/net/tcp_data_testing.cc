#include "hoplite/net/tcp_data_testing.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <string>
#include <utility>

#include "hoplite/base/check.h"
#include "hoplite/base/random.h"
#include "hoplite/net/tcp_data.h"

namespace hoplite {
namespace {

double ProcessorSeconds() {
  rusage usage{};
  HOPLITE_CHECK(::getrusage(RUSAGE_SELF, &usage) == 0);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) +
           static_cast<double>(time.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

}  // namespace

BufferPtr NewBuffer(std::uint64_t size) {
  struct Owned {
    explicit Owned(std::uint64_t bytes)
        : memory(bytes), buffer(BufferId(1), memory, 0) {}
    std::vector<std::byte> memory;
    ObjectBuffer buffer;
  };
  auto owned = std::make_shared<Owned>(size);
  ObjectBuffer* const buffer = &owned->buffer;
  return BufferPtr(std::move(owned), buffer);
}

BufferPtr NewFilledBuffer(std::uint64_t size, std::uint64_t seed) {
  BufferPtr buffer = NewBuffer(size);
  Random random(seed);
  for (std::byte& byte : buffer->data()) {
    byte = static_cast<std::byte>(random.Next() >> 56);
  }
  buffer->Advance(size);
  return buffer;
}

bool SameBytes(const ObjectBuffer& a, const ObjectBuffer& b) {
  return std::equal(a.bytes().begin(), a.bytes().end(), b.bytes().begin(),
                    b.bytes().end());
}

ObjectId TestObject(std::uint8_t number) {
  ObjectId::Bytes bytes{};
  bytes[0] = number;
  return ObjectId(bytes);
}

Generation TestGeneration(std::uint64_t counter) {
  return {.node = NodeId(1), .era = 1, .counter = counter};
}

DataNode::DataNode(std::uint32_t number, absl::string_view listen_address,
                   ClusterId cluster)
    : ref_{NodeId(number), Incarnation(number)} {
  auto plane = ListenTcpData(
      {.listen_address = std::string(listen_address), .advertise_host = ""});
  HOPLITE_CHECK(plane.ok());
  plane_ = *std::move(plane);
  plane_->Start(cluster, ref_, [this](const Event& event) { OnEvent(event); });
}

DataNode::~DataNode() { plane_->Shutdown(); }

Member DataNode::member() const {
  return {
      .ref = ref_, .control_address = "", .data_address = plane_->address()};
}

void DataNode::Offer(PullKey key, BufferPtr buffer) {
  std::vector<PullId> waiting;
  {
    MutexLock lock(mutex_);
    offers_[key] = buffer;
    for (const Event& event : events_) {
      const auto* pull = std::get_if<event::PullRequested>(&event);
      if (pull != nullptr && pull->key == key) waiting.push_back(pull->pull);
    }
  }
  for (const PullId pull : waiting) {
    if (buffer != nullptr) {
      plane_->ServePull(pull, buffer);
    } else {
      plane_->RefusePull(pull);
    }
  }
}

TransferId DataNode::Pull(const DataNode& server, PullKey key, BufferPtr buffer,
                          std::uint64_t frame_bytes, std::uint64_t begin) {
  last_transfer_ = last_transfer_.Next();
  const std::uint64_t size = buffer->size();
  plane_->StartTransfer({.transfer = last_transfer_,
                         .buffer = BufferId(1),
                         .key = key,
                         .generation = TestGeneration(1),
                         .begin = begin,
                         .size = size,
                         .frame_bytes = frame_bytes,
                         .server = server.ref()},
                        std::move(buffer));
  return last_transfer_;
}

bool DataNode::WaitFor(const std::function<bool(const Event&)>& matches) {
  const absl::Time deadline = absl::Now() + kPatience;
  MutexLock lock(mutex_);
  for (bool in_time = true;;) {
    if (std::any_of(events_.begin(), events_.end(), matches)) return true;
    if (!in_time) return false;
    in_time = changed_.WaitUntil(mutex_, deadline);
  }
}

std::optional<event::TransferFailed> DataNode::WaitForEnd(TransferId transfer) {
  std::optional<event::TransferFailed> failed;
  const bool ended = WaitFor([&](const Event& event) {
    if (const auto* done = std::get_if<event::TransferDone>(&event)) {
      return done->transfer == transfer;
    }
    const auto* failure = std::get_if<event::TransferFailed>(&event);
    if (failure == nullptr || failure->transfer != transfer) return false;
    failed = *failure;
    return true;
  });
  EXPECT_TRUE(ended) << "transfer " << transfer.value() << " has not ended";
  return failed;
}

void DataNode::OnEvent(const Event& event) {
  BufferPtr buffer;
  const auto* pull = std::get_if<event::PullRequested>(&event);
  bool offered = false;
  {
    MutexLock lock(mutex_);
    events_.push_back(event);
    changed_.NotifyAll();
    if (pull != nullptr) {
      const auto found = offers_.find(pull->key);
      offered = found != offers_.end();
      if (offered) buffer = found->second;
    }
  }
  if (!offered) return;
  if (buffer != nullptr) {
    plane_->ServePull(pull->pull, buffer);
  } else {
    plane_->RefusePull(pull->pull);
  }
}

double ProcessorSecondsOfAWait(absl::Duration duration) {
  const double before = ProcessorSeconds();
  Mutex mutex;
  CondVar never;
  const absl::Time deadline = absl::Now() + duration;
  MutexLock lock(mutex);
  while (never.WaitUntil(mutex, deadline)) {
  }
  return ProcessorSeconds() - before;
}

void Introduce(const std::vector<DataNode*>& nodes) {
  for (DataNode* node : nodes) {
    for (const DataNode* other : nodes) {
      if (node != other) node->plane().Learn(other->member());
    }
  }
}

}  // namespace hoplite
