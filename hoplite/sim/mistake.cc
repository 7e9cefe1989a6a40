#include "hoplite/sim/mistake.h"

#include <utility>

namespace hoplite::sim {
namespace {

constexpr std::pair<Mistake, absl::string_view> kNames[] = {
    {Mistake::kServeOtherObject, "ServeOtherObject"},
    {Mistake::kServeAbandonedPut, "ServeAbandonedPut"},
    {Mistake::kSkipBytes, "SkipBytes"},
    {Mistake::kGrantCircle, "GrantCircle"},
    {Mistake::kGrantTwice, "GrantTwice"},
    {Mistake::kFetchTwice, "FetchTwice"},
    {Mistake::kIgnorePull, "IgnorePull"},
    {Mistake::kStartAgain, "StartAgain"},
    {Mistake::kFoldSourceTwice, "FoldSourceTwice"},
    {Mistake::kDropSource, "DropSource"},
    {Mistake::kReportOtherSource, "ReportOtherSource"},
    {Mistake::kFoldOneLess, "FoldOneLess"},
    {Mistake::kForgetDivisor, "ForgetDivisor"},
    {Mistake::kForgetAncestor, "ForgetAncestor"},
    {Mistake::kKeepGeneration, "KeepGeneration"},
    {Mistake::kTakeLostInput, "TakeLostInput"},
    {Mistake::kChangeFinal, "ChangeFinal"},
    {Mistake::kAnswerEarly, "AnswerEarly"},
    {Mistake::kAnswerBeforeFinal, "AnswerBeforeFinal"},
    {Mistake::kAnswerTwice, "AnswerTwice"},
    {Mistake::kAnswerNever, "AnswerNever"},
    {Mistake::kAnswerLate, "AnswerLate"},
    {Mistake::kSealEarly, "SealEarly"},
    {Mistake::kDenyObject, "DenyObject"},
    {Mistake::kDeclareLoss, "DeclareLoss"},
    {Mistake::kAnswerPartialSum, "AnswerPartialSum"},
    {Mistake::kKeepBuffer, "KeepBuffer"},
    {Mistake::kReleaseTwice, "ReleaseTwice"},
    {Mistake::kEvictLastCopy, "EvictLastCopy"},
    {Mistake::kDeleteNothing, "DeleteNothing"},
    {Mistake::kReportNothing, "ReportNothing"},
    {Mistake::kTakeNoReport, "TakeNoReport"},
    {Mistake::kAdmitAsAnother, "AdmitAsAnother"},
    {Mistake::kAdmitInOldLife, "AdmitInOldLife"},
    {Mistake::kMissMember, "MissMember"},
    {Mistake::kKeepTheDead, "KeepTheDead"},
    {Mistake::kDropOnSuspicion, "DropOnSuspicion"},
    {Mistake::kLiveOn, "LiveOn"},
};

}  // namespace

absl::string_view ToString(Mistake mistake) {
  for (const auto& [each, name] : kNames) {
    if (each == mistake) return name;
  }
  return "None";
}

std::vector<Mistake> AllMistakes() {
  std::vector<Mistake> all;
  for (const auto& [each, name] : kNames) all.push_back(each);
  return all;
}

}  // namespace hoplite::sim
