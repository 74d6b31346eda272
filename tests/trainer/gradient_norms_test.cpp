#include "trainer/gradient_norms.h"

#include <gtest/gtest.h>

#include <cmath>

namespace windtunnel::trainer {
namespace {

using torch::Tensor;

TEST(ClipGradients, ScalesToTheLimitAndReportsTheNormsBefore) {
  const Tensor a = torch::full({2, 2}, 3.0);
  const Tensor b = torch::full({7}, 4.0);
  const double norm = std::sqrt(4 * 9.0 + 7 * 16.0);
  const GradientNorms norms = clip_gradients({a, b}, 1e6);
  EXPECT_NEAR(norms.global.item<double>(), norm, 1e-5);
  EXPECT_NEAR(norms.each_P[0].item<double>(), 6.0, 1e-6);
  EXPECT_NEAR(norms.each_P[1].item<double>(), std::sqrt(7 * 16.0), 1e-5);
  EXPECT_EQ(a[0][0].item<double>(), 3.0);
  EXPECT_NEAR(clip_gradients({a, b}, 1).global.item<double>(), norm, 1e-5);
  EXPECT_NEAR(a[0][0].item<double>(), 3.0 / norm, 1e-6);
  EXPECT_NEAR(b[6].item<double>(), 4.0 / norm, 1e-6);
}

TEST(NormsOfLayers, AddUpTheTensorsOfEachLayerAndLeaveOutTheRest) {
  const auto parameter = [](const char* name) {
    return model::Parameter{.name = name, .tensor = {}, .role = {}};
  };
  const auto norms =
      norms_of_layers({parameter("embedding"), parameter("layers.0.attention.query"),
                       parameter("layers.10.experts.up"), parameter("layers.0.attention.output")},
                      torch::tensor({5.0, 3.0, 2.0, 4.0}));
  EXPECT_EQ(norms, (std::map<int, double>{{0, 5.0}, {10, 2.0}}));
}

}  // namespace
}  // namespace windtunnel::trainer
