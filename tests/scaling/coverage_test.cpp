// An interval that says 90 % must hold the truth in 90 % of noisy data sets.

#include <gtest/gtest.h>

#include <cmath>

#include "scaling/intervals.h"
#include "tests/scaling/synthetic.h"

namespace windtunnel::scaling {
namespace {

constexpr int kSets = 300;
constexpr double kConfidence = 0.9;

/// Three standard deviations of a count out of kSets.
double tolerance() { return 3 * std::sqrt(kConfidence * (1 - kConfidence) / kSets); }

TEST(Coverage, IntervalsHoldTheTruthAtTheirStatedRate) {
  const tests::Truth truth{1.2, 600, 0.22};
  constexpr double kNoise = 0.003;
  constexpr double kFurther = 8e15;
  int offset = 0, exponent = 0, forecast = 0;
  for (int set = 0; set < kSets; ++set) {
    const auto seed = static_cast<uint64_t>(set);
    Target target{.law = &law_named("loss_c").entry};
    for (const auto& row : tests::rows_of(truth, 10, 1e12, 1e15, kNoise, seed)) {
      target.rows.push_back({.point = point_of(row), .loss = row.loss, .name = row.name});
    }
    const Minimum best = search(target, 2).best;
    const Noise noise = noise_of(target, best, kConfidence, std::nullopt);
    offset += profile_interval(target, best, noise, "E").holds(truth.E);
    exponent += profile_interval(target, best, noise, "alpha").holds(truth.alpha);
    base::RandomStream random(seed, "new run");
    const double outcome = truth(kFurther) * std::exp(kNoise * random.normal());
    forecast += forecast_interval(target, best, noise, {.flops = kFurther}).holds(outcome);
  }
  EXPECT_NEAR(static_cast<double>(offset) / kSets, kConfidence, tolerance());
  EXPECT_NEAR(static_cast<double>(exponent) / kSets, kConfidence, tolerance());
  EXPECT_NEAR(static_cast<double>(forecast) / kSets, kConfidence, tolerance());
}

TEST(Coverage, AForecastFromFiveRungsHoldsTheHeldOutRunAtTheStatedRate) {
  const tests::Truth truth{1.5, 1100, 0.256};
  constexpr double kNoise = 0.009;
  int held = 0;
  for (int set = 0; set < kSets; ++set) {
    const uint64_t seed = uint64_t{1000} + static_cast<uint64_t>(set);
    Target target{.law = &law_named("loss_c").entry};
    for (const auto& row : tests::rows_of(truth, 5, 1.7e11, 4.3e12, kNoise, seed)) {
      target.rows.push_back({.point = point_of(row), .loss = row.loss, .name = row.name});
    }
    const Minimum best = search(target, 2).best;
    const Noise noise = noise_of(target, best, kConfidence, std::nullopt);
    base::RandomStream random(seed, "new run");
    const double outcome = truth(1.09e13) * std::exp(kNoise * random.normal());
    held += forecast_interval(target, best, noise, {.flops = 1.09e13}).holds(outcome);
  }
  // Two degrees of freedom and an offset that may sit at 0: at least the stated rate.
  EXPECT_GE(static_cast<double>(held) / kSets, kConfidence - tolerance());
}

}  // namespace
}  // namespace windtunnel::scaling
