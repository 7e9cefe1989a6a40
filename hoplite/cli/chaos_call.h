// What chaos asks of a member, and how such a call ended: as lines of JSON.
//
// Thread safety: values; as safe as int.
// Units: bytes; nanoseconds of the steady clock.

#ifndef HOPLITE_CLI_CHAOS_CALL_H_
#define HOPLITE_CLI_CHAOS_CALL_H_

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "hoplite/cli/chaos_content.h"

namespace hoplite::cli {

enum class ChaosCallKind : std::uint8_t { kPut, kGet, kReduce, kDelete };

absl::string_view ToString(ChaosCallKind kind);

struct ChaosCall {
  ChaosCallKind kind = ChaosCallKind::kGet;
  ChaosContent content;
  std::uint64_t bytes = 0;
  // Of the operation: its sources are the objects before this number, its
  // target is that number itself. Delete takes all of them.
  std::uint32_t objects = 1;
  std::uint32_t object = 0;   // put, get
  std::uint32_t count = 1;    // reduce
  std::int64_t deadline = 0;  // by which the call returns
};

struct ChaosEnd {
  absl::StatusCode code = absl::StatusCode::kOk;
  std::string message;
  std::int64_t ended = 0;
  ChaosReading reading;                // get
  std::vector<std::uint32_t> sources;  // reduce: those that went in
};

nlohmann::json ToJson(const ChaosCall& call);
nlohmann::json ToJson(const ChaosEnd& end);
// The inverses. REQUIRES: what ToJson makes.
ChaosCall ChaosCallFromJson(const nlohmann::json& json);
ChaosEnd ChaosEndFromJson(const nlohmann::json& json);

}  // namespace hoplite::cli

#endif  // HOPLITE_CLI_CHAOS_CALL_H_
