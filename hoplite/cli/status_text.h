// What `hoplite status` prints for people.
//
// Thread safety: thread-safe.

#ifndef HOPLITE_CLI_STATUS_TEXT_H_
#define HOPLITE_CLI_STATUS_TEXT_H_

#include <string>

#include "hoplite/runtime/node_report.h"

namespace hoplite::cli {

// The cluster's nodes and how many shards each hosts, as this node knows them;
// then the objects and transfers of this node alone, which says so.
std::string StatusText(const NodeReport& report);

}  // namespace hoplite::cli

#endif  // HOPLITE_CLI_STATUS_TEXT_H_
