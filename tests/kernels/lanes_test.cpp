#include "kernels/loops/lanes.h"

#include <gtest/gtest.h>

#include <cmath>

namespace windtunnel::kernels::loops {
namespace {

// Two units in the last place of a float.
constexpr double kTolerance = 2.4e-7;

TEST(Exponential, IsTheExponentialOfOneFloat) {
  for (float x = -87; x < 88; x += 0.0371f) {
    EXPECT_NEAR(exponential(x) / std::exp(static_cast<double>(x)), 1, kTolerance) << x;
  }
  EXPECT_EQ(exponential(0.0f), 1.0f);
}

TEST(Exponential, LanesAgreeWithOneFloat) {
  float in[kLanes], out[kLanes];
  for (int i = 0; i < kLanes; ++i) in[i] = static_cast<float>(i * i - 100) * 0.7f;
  store(out, exponential(load(in)));
  for (int i = 0; i < kLanes; ++i) EXPECT_NEAR(out[i] / exponential(in[i]), 1, kTolerance) << in[i];
}

TEST(Exponential, IsFiniteFarOutside) {
  EXPECT_TRUE(std::isfinite(exponential(1e30f)));
  EXPECT_LT(exponential(-1e30f), 1e-37f);
}

}  // namespace
}  // namespace windtunnel::kernels::loops
