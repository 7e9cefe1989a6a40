#include "apps/parameter_server/digits.h"

#include "absl/status/status.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "apps/parameter_server/digits_text.h"
#include "hoplite/base/check.h"

namespace hoplite::apps {
namespace {

constexpr std::size_t kHeldOutEvery = 7;
constexpr int kBlack = 16;
constexpr absl::string_view kShades = "0123456789abcdefg";
constexpr std::size_t kLabelAt = kDigitPixels + 1;
constexpr std::size_t kLineLength = kLabelAt + 1;

bool IsDigitLine(absl::string_view line) {
  return line.size() == kLineLength && line[kDigitPixels] == ' ' &&
         line[kLabelAt] >= '0' && line[kLabelAt] <= '9' &&
         line.substr(0, kDigitPixels).find_first_not_of(kShades) ==
             absl::string_view::npos;
}

Examples ExamplesOf(const std::vector<absl::string_view>& lines) {
  Examples examples;
  examples.images.resize(kDigitPixels, static_cast<int>(lines.size()));
  for (std::size_t i = 0; i < lines.size(); ++i) {
    for (int pixel = 0; pixel < kDigitPixels; ++pixel) {
      const std::size_t shade =
          kShades.find(lines[i][static_cast<std::size_t>(pixel)]);
      examples.images(pixel, static_cast<int>(i)) =
          static_cast<float>(shade) / kBlack;
    }
    examples.labels.push_back(lines[i][kLabelAt] - '0');
  }
  return examples;
}

// The image with its pixels `right` and `down` of where they were.
Eigen::VectorXf Shifted(const Eigen::VectorXf& image, int right, int down) {
  Eigen::VectorXf shifted = Eigen::VectorXf::Zero(kDigitPixels);
  const auto inside = [](int place) {
    return place >= 0 && place < kDigitSide;
  };
  for (int y = 0; y < kDigitSide; ++y) {
    for (int x = 0; x < kDigitSide; ++x) {
      if (!inside(x - right) || !inside(y - down)) continue;
      shifted(y * kDigitSide + x) = image((y - down) * kDigitSide + x - right);
    }
  }
  return shifted;
}

// -1, 0 or 1.
int DrawShift(Random& random) { return static_cast<int>(random.Below(3)) - 1; }

}  // namespace

absl::StatusOr<Digits> ParseDigits(absl::string_view text) {
  std::vector<absl::string_view> learned;
  std::vector<absl::string_view> held_out;
  std::size_t number = 0;
  for (const absl::string_view line :
       absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    ++number;
    if (!IsDigitLine(line)) {
      return absl::InvalidArgumentError(absl::StrFormat(
          "line %d is no digit: it has 64 shades of 0 to g, a space and the "
          "digit",
          number));
    }
    (number % kHeldOutEvery == 0 ? held_out : learned).push_back(line);
  }
  if (held_out.empty()) {
    return absl::InvalidArgumentError(
        absl::StrFormat("%d digits are too few to learn from", number));
  }
  return Digits{.learned = ExamplesOf(learned),
                .held_out = ExamplesOf(held_out)};
}

const Digits& HandwrittenDigits() {
  static const Digits digits = [] {
    absl::StatusOr<Digits> parsed = ParseDigits(DigitsText());
    HOPLITE_CHECK(parsed.ok());
    return *std::move(parsed);
  }();
  return digits;
}

Examples DrawBatch(const Examples& examples, std::size_t size, Random& random) {
  Examples batch;
  batch.images.resize(examples.images.rows(), static_cast<int>(size));
  for (std::size_t i = 0; i < size; ++i) {
    const std::size_t drawn = random.Below(examples.size());
    batch.images.col(static_cast<int>(i)) =
        examples.images.col(static_cast<int>(drawn));
    batch.labels.push_back(examples.labels[drawn]);
  }
  return batch;
}

void ShiftSome(Examples& examples, Random& random) {
  for (int i = 0; i < examples.images.cols(); ++i) {
    if (!random.Chance(1, 2)) continue;
    const int right = DrawShift(random);
    const int down = DrawShift(random);
    examples.images.col(i) = Shifted(examples.images.col(i), right, down);
  }
}

}  // namespace hoplite::apps
