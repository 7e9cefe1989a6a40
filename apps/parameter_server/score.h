// How good weights are on examples that were held out.
//
// Thread safety: values; as safe as int.

#ifndef HOPLITE_APPS_PARAMETER_SERVER_SCORE_H_
#define HOPLITE_APPS_PARAMETER_SERVER_SCORE_H_

namespace hoplite::apps {

struct Score {
  double loss = 0;      // mean cross-entropy
  double accuracy = 0;  // 0 to 1
};

}  // namespace hoplite::apps

#endif  // HOPLITE_APPS_PARAMETER_SERVER_SCORE_H_
