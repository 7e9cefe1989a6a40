// The most that asynchronous SGD can reach, from the sizes and times alone.
//
// An update takes a gradients of S bytes; links carry B bytes a second in
// each direction; a worker computes for C seconds; n hosts, one the server's.
//
//   the server's link   With Hoplite one sum comes in for each update: a B/S
//                       gradients a second. Plainly each comes in by itself:
//                       B/S.
//   a worker's cycle    S/B for the weights, C, S/B for the gradient:
//                       (n - 1) / (2 S/B + C) gradients a second.
//
// Thread safety: thread-safe.
// Units: samples a second, seconds.

#ifndef HOPLITE_EXPERIMENTS_FIGURE9_BOUND_H_
#define HOPLITE_EXPERIMENTS_FIGURE9_BOUND_H_

#include <string>

namespace hoplite::experiments {

struct Sizes {
  int hosts = 0;
  int quorum = 0;       // a
  double transfer = 0;  // S/B
  double compute = 0;   // C
  bool plain = false;
};

double ServerMost(const Sizes& sizes);
double CycleMost(const Sizes& sizes);
// The smaller one.
double MostSamples(const Sizes& sizes);

// Who limits what was measured while `idle` of the processors, 0 to 1, was:
//   "processor"  less than a tenth was idle: the emulation is at its end
//   "link"       the server's link allows less than a worker's cycle; or
//                the cycle has more of transfers than of computing
//   "compute"    it has more of computing
std::string LimitOf(const Sizes& sizes, double idle);

}  // namespace hoplite::experiments

#endif  // HOPLITE_EXPERIMENTS_FIGURE9_BOUND_H_
