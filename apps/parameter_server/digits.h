// Images of handwritten digits, in a part to learn from and one held out.
//
// Where they come from is said in data/README.md.
//
// Thread safety: values; as safe as int.

#ifndef HOPLITE_APPS_PARAMETER_SERVER_DIGITS_H_
#define HOPLITE_APPS_PARAMETER_SERVER_DIGITS_H_

#include <cstddef>
#include <eigen3/Eigen/Dense>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "hoplite/base/random.h"

namespace hoplite::apps {

inline constexpr int kDigitSide = 8;  // of an image, in pixels
inline constexpr int kDigitPixels = kDigitSide * kDigitSide;
inline constexpr int kDigitClasses = 10;

struct Examples {
  Eigen::MatrixXf images;   // a column an image; 0 is white, 1 is black
  std::vector<int> labels;  // one for each column

  std::size_t size() const { return labels.size(); }
};

struct Digits {
  Examples learned;
  Examples held_out;  // every seventh: digits come in runs of ten
};

// The form is that of data/digits.txt.
// Errors: kInvalidArgument, naming the line.
absl::StatusOr<Digits> ParseDigits(absl::string_view text);

// Those of this program.
const Digits& HandwrittenDigits();

// `size` of the examples, each drawn anew. REQUIRES: there are examples.
Examples DrawBatch(const Examples& examples, std::size_t size, Random& random);

// Moves half of the images by up to a pixel each way, white coming in: a
// digit is the same wherever it stands, and few were written.
void ShiftSome(Examples& examples, Random& random);

}  // namespace hoplite::apps

#endif  // HOPLITE_APPS_PARAMETER_SERVER_DIGITS_H_
