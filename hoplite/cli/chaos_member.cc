#include "hoplite/cli/chaos_member.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <iostream>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "hoplite/base/status_macros.h"
#include "hoplite/cli/mapped_memory.h"
#include "hoplite/cli/steady_clock.h"

namespace hoplite::cli {
namespace {

using Json = nlohmann::json;

// A node that is busy, or in between two lives.
constexpr absl::Duration kReportTimeout = absl::Seconds(2);

absl::Duration TimeLeftUntil(std::int64_t deadline) {
  return std::max(absl::Nanoseconds(deadline - SteadyNanos()),
                  absl::ZeroDuration());
}

void SetStatus(ChaosEnd& end, const absl::Status& status) {
  end.code = status.code();
  end.message = std::string(status.message());
}

absl::Status MakePut(Client& client, const ChaosCall& call) {
  // Given back at once: memory that grows is to be the node's.
  HOPLITE_ASSIGN_OR_RETURN(const MappedMemory memory,
                           MappedMemory::Zeros(call.bytes));
  call.content.Fill(call.object, memory.bytes());
  return client.Put(call.content.Id(call.object), memory.bytes(),
                    {.timeout = TimeLeftUntil(call.deadline)});
}

absl::Status MakeGet(Client& client, const ChaosCall& call, ChaosEnd& end) {
  HOPLITE_ASSIGN_OR_RETURN(
      const Buffer buffer,
      client.Get(call.content.Id(call.object),
                 {.timeout = TimeLeftUntil(call.deadline)}));
  // Reading it is not a part of the call.
  end.ended = SteadyNanos();
  end.reading = call.content.Read(call.bytes, buffer.bytes());
  return absl::OkStatus();
}

absl::Status MakeReduce(Client& client, const ChaosCall& call, ChaosEnd& end) {
  std::vector<ObjectId> sources;
  for (std::uint32_t i = 0; i < call.objects; ++i) {
    sources.push_back(call.content.Id(i));
  }
  HOPLITE_ASSIGN_OR_RETURN(
      const ReduceResult result,
      client.Reduce(call.content.Id(call.objects), sources,
                    {.op = ReduceOp::kSum,
                     .type = DataType::kF32,
                     .count = call.count,
                     .timeout = TimeLeftUntil(call.deadline)}));
  for (const ObjectId& id : result.sources) {
    const auto found = std::ranges::find(sources, id);
    end.sources.push_back(static_cast<std::uint32_t>(found - sources.begin()));
  }
  return absl::OkStatus();
}

absl::Status MakeDelete(Client& client, const ChaosCall& call) {
  std::vector<Future<void>> deleted;
  for (std::uint32_t i = 0; i <= call.objects; ++i) {
    deleted.push_back(client.DeleteAsync(
        call.content.Id(i), {.timeout = TimeLeftUntil(call.deadline)}));
  }
  absl::Status first_error;
  for (const Future<void>& future : deleted) {
    const absl::Status status = future.Get();
    if (!absl::IsNotFound(status)) first_error.Update(status);
  }
  return first_error;
}

}  // namespace

ChaosEnd MakeChaosCall(Client& client, const ChaosCall& call) {
  ChaosEnd end;
  switch (call.kind) {
    case ChaosCallKind::kPut:
      SetStatus(end, MakePut(client, call));
      break;
    case ChaosCallKind::kGet:
      SetStatus(end, MakeGet(client, call, end));
      break;
    case ChaosCallKind::kReduce:
      SetStatus(end, MakeReduce(client, call, end));
      break;
    case ChaosCallKind::kDelete:
      SetStatus(end, MakeDelete(client, call));
      break;
  }
  if (end.ended == 0) end.ended = SteadyNanos();
  return end;
}

int ChaosMember::Main() {
  for (std::string line; std::getline(std::cin, line);) {
    const Json command = Json::parse(line, nullptr, false);
    if (!command.is_object()) return 1;
    CollectDone();
    Begin(command);
  }
  if (const std::shared_ptr<Client> last = client()) last->Shutdown();
  for (Running& running : running_) running.thread.join();
  return 0;
}

void ChaosMember::CollectDone() {
  std::erase_if(running_, [](Running& running) {
    if (!running.done) return false;
    running.thread.join();
    return true;
  });
}

void ChaosMember::Begin(const Json& command) {
  Running& running = running_.emplace_back();
  running.thread = std::thread([this, &running, command] {
    Carry(command);
    running.done = true;
  });
}

void ChaosMember::Carry(const Json& command) {
  Json reply;
  try {
    Answer answer = Do(command);
    if (answer.ok()) {
      reply = *std::move(answer);
    } else {
      reply["error"] = answer.status().ToString();
    }
  } catch (const std::exception& error) {  // the JSON library throws
    reply["error"] = error.what();
  }
  reply["call"] = command.value("call", std::uint64_t{0});
  const std::string line = reply.dump();
  MutexLock lock(output_);
  std::cout << line << std::endl;
}

absl::StatusOr<Json> ChaosMember::Do(const Json& command) {
  const std::string what = command.at("do");
  if (what == "start") return Start(command);
  if (what == "connect") return Connect(command.at("socket"));
  if (what == "report") return Report();
  if (what == "files") {
    Json files = Json::array();
    std::error_code missing;
    for (const auto& entry : std::filesystem::directory_iterator(
             command.at("folder").get<std::string>(), missing)) {
      files.push_back(entry.path().filename().string());
    }
    return Json{{"files", files}};
  }
  const std::shared_ptr<Client> present = client();
  if (present == nullptr) {
    return absl::FailedPreconditionError("this member has no node yet");
  }
  return ToJson(MakeChaosCall(*present, ChaosCallFromJson(command)));
}

absl::StatusOr<Json> ChaosMember::Start(const Json& command) {
  NodeOptions options;
  options.listen = command.at("listen");
  options.data_listen = command.at("data_listen");
  options.join = command.at("join");
  options.store_bytes = command.at("store");
  options.heartbeat_interval =
      absl::Milliseconds(command.at("heartbeat_ms").get<std::int64_t>());
  options.dead_after =
      absl::Milliseconds(command.at("dead_after_ms").get<std::int64_t>());
  HOPLITE_ASSIGN_OR_RETURN(std::shared_ptr<Client> node,
                           Client::Embed(options));
  HOPLITE_ASSIGN_OR_RETURN(const NodeReport report, node->Report());
  SetClient(std::move(node));
  return Json{{"address", report.control_address},
              {"data_address", report.data_address}};
}

absl::StatusOr<Json> ChaosMember::Connect(const std::string& socket) {
  HOPLITE_ASSIGN_OR_RETURN(
      std::shared_ptr<Client> node,
      Client::Connect(socket, {.timeout = kReportTimeout}));
  SetClient(std::move(node));
  MutexLock lock(mutex_);
  socket_ = socket;
  return Json::object();
}

absl::StatusOr<Json> ChaosMember::Report() {
  std::shared_ptr<Client> present = client();
  if (present == nullptr) {
    return absl::FailedPreconditionError("this member has no node yet");
  }
  auto report = present->Report({.timeout = kReportTimeout});
  if (!report.ok()) {
    std::string socket;
    {
      MutexLock lock(mutex_);
      socket = socket_;
    }
    if (socket.empty()) return report.status();
    HOPLITE_RETURN_IF_ERROR(Connect(socket).status());
    report = client()->Report({.timeout = kReportTimeout});
  }
  HOPLITE_RETURN_IF_ERROR(report.status());
  return Json{{"report", hoplite::ToJson(*report)}};
}

std::shared_ptr<Client> ChaosMember::client() {
  MutexLock lock(mutex_);
  return client_;
}

void ChaosMember::SetClient(std::shared_ptr<Client> client) {
  MutexLock lock(mutex_);
  client_.swap(client);
  // The one before ends when this returns, with its last call.
}

}  // namespace hoplite::cli
