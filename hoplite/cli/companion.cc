#include "hoplite/cli/companion.h"

#include <utility>

namespace hoplite::cli {
namespace {

CompanionMaker& Maker() {
  static CompanionMaker maker;
  return maker;
}

}  // namespace

const CompanionMaker& TheCompanion() { return Maker(); }

void SetCompanion(CompanionMaker maker) { Maker() = std::move(maker); }

}  // namespace hoplite::cli
