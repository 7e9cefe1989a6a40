#include "hoplite/cli/chaos_call.h"

namespace hoplite::cli {

using Json = nlohmann::json;

absl::string_view ToString(ChaosCallKind kind) {
  switch (kind) {
    case ChaosCallKind::kPut:
      return "put";
    case ChaosCallKind::kGet:
      return "get";
    case ChaosCallKind::kReduce:
      return "reduce";
    case ChaosCallKind::kDelete:
      return "delete";
  }
  return "?";
}

Json ToJson(const ChaosCall& call) {
  return {{"kind", static_cast<int>(call.kind)},
          {"seed", call.content.seed},
          {"operation", call.content.operation},
          {"bytes", call.bytes},
          {"objects", call.objects},
          {"object", call.object},
          {"count", call.count},
          {"deadline", call.deadline}};
}

ChaosCall ChaosCallFromJson(const Json& json) {
  ChaosCall call;
  call.kind = static_cast<ChaosCallKind>(json.at("kind").get<int>());
  call.content.seed = json.at("seed");
  call.content.operation = json.at("operation");
  call.bytes = json.at("bytes");
  call.objects = json.at("objects");
  call.object = json.at("object");
  call.count = json.at("count");
  call.deadline = json.at("deadline");
  return call;
}

Json ToJson(const ChaosEnd& end) {
  return {{"code", static_cast<int>(end.code)},
          {"message", end.message},
          {"ended", end.ended},
          {"factor", end.reading.weight.factor},
          {"offset", end.reading.weight.offset},
          {"wrong", end.reading.wrong_bytes},
          {"sources", end.sources}};
}

ChaosEnd ChaosEndFromJson(const Json& json) {
  ChaosEnd end;
  end.code = static_cast<absl::StatusCode>(json.at("code").get<int>());
  end.message = json.at("message");
  end.ended = json.at("ended");
  end.reading.weight.factor = json.at("factor");
  end.reading.weight.offset = json.at("offset");
  end.reading.wrong_bytes = json.at("wrong");
  end.sources = json.at("sources").get<std::vector<std::uint32_t>>();
  return end;
}

}  // namespace hoplite::cli
