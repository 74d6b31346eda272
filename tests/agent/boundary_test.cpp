#include "agent/boundary.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/json.h"
#include "base/random.h"

namespace windtunnel::agent {
namespace {

// What the golden grid's linear interpolation leaves.
constexpr double kRelativeTolerance = 2e-3;

TEST(Boundary, EqualsAnIndependentIntegration) {
  const base::Json cases =
      base::read_json(WINDTUNNEL_SOURCE_DIR "/tests/golden/sequential_boundary.json");
  for (const base::Json& example : cases) {
    const auto levels =
        nominal_levels(example["looks"].get<std::vector<double>>(), example["alpha"].get<double>());
    const auto expected = example["levels"].get<std::vector<double>>();
    ASSERT_EQ(levels.size(), expected.size());
    for (size_t look = 0; look < levels.size(); ++look) {
      EXPECT_NEAR(levels[look], expected[look], kRelativeTolerance * expected[look])
          << example.dump() << " look " << look;
    }
  }
}

TEST(Boundary, OneLookGetsTheWholeError) {
  EXPECT_DOUBLE_EQ(nominal_levels({4}, 0.05).front(), 0.05);
}

TEST(Boundary, AllLooksTogetherErrAsOftenAsStated) {
  const std::vector<int64_t> looks = {2, 4, 6, 8};
  constexpr double kAlpha = 0.1;
  const auto levels = nominal_levels({looks.begin(), looks.end()}, kAlpha);
  base::RandomStream draws(7, "boundary");
  constexpr int kTrials = 40000;
  int crossed = 0;
  for (int trial = 0; trial < kTrials; ++trial) {
    double sum = 0;
    int64_t count = 0;
    for (size_t look = 0; look < looks.size(); ++look) {
      for (; count < looks[look]; ++count) sum += draws.normal();
      const double z = sum / std::sqrt(static_cast<double>(count));
      if (0.5 * std::erfc(z / std::sqrt(2.0)) < levels[look]) {
        ++crossed;
        break;
      }
    }
  }
  // Four standard errors of the simulation.
  EXPECT_NEAR(crossed / double(kTrials), kAlpha, 4 * std::sqrt(kAlpha * (1 - kAlpha) / kTrials));
}

}  // namespace
}  // namespace windtunnel::agent
