#include "experiments/figure9/bound.h"

#include <gtest/gtest.h>

namespace hoplite::experiments {
namespace {

TEST(Bound, TheServersLinkCarriesOneSumOfManyGradients) {
  Sizes sizes = {.hosts = 16, .quorum = 7, .transfer = 0.2, .compute = 0};
  EXPECT_DOUBLE_EQ(ServerMost(sizes), 128 * 7 / 0.2);
  sizes.plain = true;
  EXPECT_DOUBLE_EQ(ServerMost(sizes), 128 / 0.2);
}

TEST(Bound, AWorkerGetsComputesAndGives) {
  const Sizes sizes = {
      .hosts = 8, .quorum = 3, .transfer = 0.2, .compute = 0.6};
  EXPECT_DOUBLE_EQ(CycleMost(sizes), 128 * 7 / 1.0);
  EXPECT_DOUBLE_EQ(MostSamples(sizes), 128 * 7 / 1.0);
}

TEST(Bound, WhoLimitsIsSaid) {
  // AlexNet, VGG-16 and ResNet-50 of the paper, roughly.
  const Sizes alexnet = {
      .hosts = 16, .quorum = 7, .transfer = 0.2, .compute = 0.075};
  const Sizes vgg16 = {
      .hosts = 16, .quorum = 7, .transfer = 0.46, .compute = 0.6};
  Sizes resnet50 = {
      .hosts = 16, .quorum = 7, .transfer = 0.08, .compute = 0.34};
  EXPECT_EQ(LimitOf(alexnet, 0.5), "link");
  EXPECT_EQ(LimitOf(vgg16, 0.5), "link");
  EXPECT_EQ(LimitOf(resnet50, 0.5), "compute");
  EXPECT_EQ(LimitOf(resnet50, 0.05), "processor");
  resnet50.plain = true;
  EXPECT_EQ(LimitOf(resnet50, 0.5), "link");
}

}  // namespace
}  // namespace hoplite::experiments
