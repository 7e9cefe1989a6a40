#include "apps/parameter_server/models.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "hoplite/base/check.h"

namespace hoplite::apps {
namespace {

// The parameters are those of torchvision's models. None of these times is
// the paper's, which gives none: --compute-ms sets another.
constexpr Model kModels[] = {
    {"alexnet", "AlexNet", 61'100'840, 75,
     "an estimate: 0.55 TFLOP a batch at 7.3 TFLOP/s; 60 ms at the rate at "
     "which ResNet-50 runs, below, and 90 ms at two thirds of it"},
    {"vgg16", "VGG-16", 138'357'544, 600,
     "github.com/u39kun/deep-learning-benchmark: 71.7 ms (TensorFlow 1.5) "
     "to 83.5 ms (PyTorch 0.3, Amazon p3) for 16 images; eight times that is "
     "574 to 668 ms"},
    {"resnet50", "ResNet-50", 25'557'032, 342,
     "github.com/sandeepkumar-skb/pytorch_experiments, torchvision_exp: "
     "342.37 ms for 128 images (V100-SXM2, 32 bits, NCHW)"},
};

}  // namespace

std::span<const Model> Models() { return kModels; }

absl::StatusOr<Model> FindModel(absl::string_view name) {
  const auto found = std::ranges::find(kModels, name, &Model::name);
  if (found != std::end(kModels)) return *found;
  std::vector<absl::string_view> names;
  for (const Model& model : kModels) names.push_back(model.name);
  return absl::InvalidArgumentError(absl::StrCat(
      "\"", name, "\" is none of the models: ", absl::StrJoin(names, ", ")));
}

std::uint64_t ScaledElements(const Model& model, double scale) {
  HOPLITE_CHECK(scale > 0);
  const double elements = static_cast<double>(model.parameters) / scale;
  return std::max<std::uint64_t>(
      1, static_cast<std::uint64_t>(std::llround(elements)));
}

}  // namespace hoplite::apps
