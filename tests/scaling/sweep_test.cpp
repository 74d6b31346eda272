#include "scaling/sweep.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/random.h"

namespace windtunnel::scaling {
namespace {

using testing::HasSubstr;

/// ln loss is a parabola in ln x with its minimum at `best`, off by `noise`.
std::vector<SweepRow> rows_of(const std::vector<double>& values, double best, double curvature,
                              double noise = 0, uint64_t seed = 1) {
  base::RandomStream random(seed, "sweep");
  std::vector<SweepRow> rows;
  for (const double value : values) {
    const double u = std::log(value / best);
    rows.push_back({"e" + std::to_string(static_cast<int>(value)), value,
                    0.9382 * std::exp(curvature * u * u + noise * random.normal())});
  }
  return rows;
}

const std::vector<double> kExperts = {4, 8, 16, 32, 64, 128};

TEST(Sweep, AnExactUGivesItsMinimumWithAnIntervalOfNoWidth) {
  const Sweep sweep = fit_sweep("num_experts", rows_of(kExperts, 18, 0.01));
  EXPECT_NEAR(*sweep.minimum, 18, 1e-6);
  EXPECT_NEAR(*sweep.loss_at_minimum, 0.9382, 1e-9);
  EXPECT_NEAR(sweep.cost_of_factor_two, 0.01 * std::log(2) * std::log(2), 1e-9);
  EXPECT_NEAR(*sweep.minimum_interval.high / *sweep.minimum_interval.low, 1, 1e-4);
  EXPECT_EQ(sweep.verdict, sweep_verdict::kInterior);
  EXPECT_EQ(sweep.best_tried, 16);
}

TEST(Sweep, TheIntervalHoldsTheMinimumAtItsRate) {
  int covered = 0, bounded = 0;
  constexpr int kSets = 2000;
  for (int set = 0; set < kSets; ++set) {
    const Sweep sweep =
        fit_sweep("x", rows_of(kExperts, 18, 0.01, 0.004, static_cast<uint64_t>(set)));
    if (!sweep.minimum_interval.low) continue;
    ++bounded;
    covered += sweep.minimum_interval.holds(18);
  }
  EXPECT_GT(bounded, 0.95 * kSets);
  EXPECT_NEAR(covered / static_cast<double>(bounded), 0.95, 0.015);
}

TEST(Sweep, WhatASeedDoesToAllValuesIsNoNoise) {
  std::vector<SweepRow> rows;
  for (const int64_t seed : {1, 2, 3}) {
    // Three seeds a tenth apart, each a clean U but for a thousandth.
    for (SweepRow row : rows_of(kExperts, 18, 0.01, 0.001, static_cast<uint64_t>(seed))) {
      row.loss *= 1 + 0.1 * static_cast<double>(seed);
      row.seed = seed;
      rows.push_back(row);
    }
  }
  const Sweep paired = fit_sweep("x", rows);
  EXPECT_EQ(paired.seeds, 3);
  EXPECT_LT(*paired.scatter, 0.002);
  EXPECT_EQ(paired.verdict, sweep_verdict::kInterior);
  EXPECT_TRUE(paired.minimum_interval.holds(18));
  for (SweepRow& row : rows) row.seed.reset();
  EXPECT_GT(*fit_sweep("x", rows).scatter, 0.05);
}

TEST(Sweep, AMinimumAtOrBeyondTheEdgeIsSaidToBeThere) {
  const Sweep sweep = fit_sweep("num_experts", rows_of(kExperts, 300, 0.01));
  EXPECT_EQ(sweep.verdict, sweep_verdict::kEdge);
  EXPECT_THAT(sweep.reason, HasSubstr("outside the values tried, 4 to 128; sweep beyond 128"));
  const Sweep wide = fit_sweep("num_experts", rows_of(kExperts, 90, 0.01, 0.008, 2));
  EXPECT_NE(wide.verdict, sweep_verdict::kInterior);
}

TEST(Sweep, NoiseWithoutABendIdentifiesNothing) {
  int identified = 0;
  for (int set = 0; set < 1000; ++set) {
    const Sweep sweep = fit_sweep("x", rows_of(kExperts, 18, 0, 0.004, static_cast<uint64_t>(set)));
    identified += sweep.verdict != sweep_verdict::kNotIdentified;
  }
  EXPECT_LT(identified, 40);  // 2.5 % of 1,000 and three standard deviations
}

TEST(Sweep, AnInvertedUHasNoMinimum) {
  const Sweep sweep = fit_sweep("x", rows_of(kExperts, 18, -0.01));
  EXPECT_EQ(sweep.verdict, sweep_verdict::kNotIdentified);
  EXPECT_FALSE(sweep.minimum);
  EXPECT_THAT(sweep.reason, HasSubstr("opens downwards"));
}

TEST(Sweep, ThreeRowsNeedAKnownNoiseForAnInterval) {
  const auto rows = rows_of({8, 16, 32}, 16, 0.01);
  const Sweep bare = fit_sweep("x", rows);
  EXPECT_EQ(bare.verdict, sweep_verdict::kNotIdentified);
  EXPECT_NEAR(*bare.minimum, 16, 1e-6);
  EXPECT_FALSE(bare.minimum_interval.low);
  EXPECT_THAT(bare.reason, HasSubstr("the rows fix the parabola exactly"));
  EXPECT_EQ(fit_sweep("x", rows, 0.95, 0.0005).verdict, sweep_verdict::kInterior);
}

TEST(Sweep, WhatIsNoSweepIsRefused) {
  const auto refusal = [](const std::vector<SweepRow>& rows) {
    try {
      fit_sweep("x", rows);
    } catch (const base::Error& error) {
      return std::string(error.what());
    }
    return std::string("no error");
  };
  EXPECT_EQ(refusal(rows_of({8, 16}, 16, 0.01)),
            "a sweep needs three different values and has 2; run at more values");
  auto rows = rows_of(kExperts, 16, 0.01);
  rows[2].loss = NAN;
  EXPECT_EQ(refusal(rows), "e16: loss = nan must be a positive number; correct or remove the row");
}

TEST(Sweep, ALuckySeedThatRanAFewValuesDoesNotMakeThemBest) {
  std::vector<SweepRow> rows;
  const auto loss = [](double value, double level) {
    const double off = std::log(value / 32);
    return 2 * std::exp(0.01 * off * off + level);
  };
  for (const double value : {4.0, 8.0, 16.0, 32.0, 64.0, 128.0}) {
    for (const int64_t seed : {1, 2}) {
      rows.push_back(
          {.name = "r", .value = value, .loss = loss(value, 0.002 * seed), .seed = seed});
    }
  }
  for (const double value : {4.0, 8.0, 64.0}) {
    rows.push_back({.name = "lucky", .value = value, .loss = loss(value, -0.05), .seed = 3});
  }
  EXPECT_EQ(fit_sweep("experts", rows).best_tried, 32);
  rows[4].seed.reset();
  EXPECT_THAT([&] { fit_sweep("experts", rows); },
              testing::ThrowsMessage<base::Error>(
                  testing::HasSubstr("r has no seed while others have one; fill it in")));
}

}  // namespace
}  // namespace windtunnel::scaling
