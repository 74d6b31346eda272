#include "scaling/fit.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/json.h"
#include "scaling/intervals.h"
#include "tests/scaling/synthetic.h"

namespace windtunnel::scaling {
namespace {

/// The golden values come from bisection and golden section, good to about 1e-5.
constexpr double kGolden = 2e-4;

const base::Json& golden() {
  static const base::Json json =
      base::read_json(std::string(WINDTUNNEL_SOURCE_DIR) + "/tests/golden/loss_c.json");
  return json;
}

Target golden_target(const std::string& law) {
  Target target{.law = &law_named(law).entry};
  for (size_t i = 0; i < golden()["flops"].size(); ++i) {
    target.rows.push_back({.point = {.flops = golden()["flops"][i]}, .loss = golden()["loss"][i]});
  }
  return target;
}

double at(const base::Json& json, const char* key) { return json.at(key).get<double>(); }

TEST(Fit, AgreesWithAnIndependentFit) {
  const Target target = golden_target("loss_c");
  const Search found = search(target, 16);
  const base::Json& expected = golden()["loss_c"];
  EXPECT_NEAR(found.best.coefficients[0], at(expected, "E"), kGolden);
  EXPECT_NEAR(found.best.exponents[0], at(expected, "alpha"), kGolden);
  // Not above what the other method found: ours must be the minimum.
  EXPECT_LE(2 * found.best.objective, at(expected, "rss") * (1 + 1e-9));
  EXPECT_NEAR(2 * found.best.objective / at(expected, "rss"), 1, 1e-4);
  EXPECT_EQ(found.starts_in_best_basin, 16);
  EXPECT_LT(found.restart_gain, kSameBasin);
  EXPECT_LT(found.solver_gain, kSameBasin);
  EXPECT_FALSE(found.answer_is_a_start);
}

TEST(Fit, ThePlainPowerLawIsTheLawWithItsOffsetPinnedAtZero) {
  const base::Json& expected = golden()["power_c"];
  const Minimum plain = search(golden_target("power_c"), 8).best;
  EXPECT_NEAR(plain.coefficients[0] / at(expected, "A"), 1, kGolden);
  EXPECT_NEAR(plain.exponents[0], at(expected, "alpha"), kGolden);
  Pins no_offset;
  no_offset.coefficients = {0.0, std::nullopt};
  const Minimum pinned = search(golden_target("loss_c"), 8, no_offset).best;
  EXPECT_NEAR(pinned.exponents[0], plain.exponents[0], 1e-8);
  EXPECT_NEAR(pinned.objective / plain.objective, 1, 1e-10);
}

TEST(Fit, IntervalsAgreeWithAnIndependentProfile) {
  const Target target = golden_target("loss_c");
  const Minimum best = search(target, 16).best;
  const Noise noise = noise_of(target, best, 0.95, std::nullopt);
  const Interval offset = profile_interval(target, best, noise, "E");
  EXPECT_EQ(offset.low == 0.0, golden()["e_reaches_zero"].get<bool>());
  EXPECT_NEAR(*offset.high, at(golden(), "e_high"), kGolden);
  const Interval forecast =
      forecast_interval(target, best, noise, {.flops = golden()["held_out_flops"]});
  EXPECT_NEAR(*forecast.low, at(golden(), "forecast_low"), kGolden);
  EXPECT_NEAR(*forecast.high, at(golden(), "forecast_high"), kGolden);
  const Interval mean = mean_interval(target, best, noise, {.flops = golden()["held_out_flops"]});
  EXPECT_GT(*mean.low, *forecast.low);
  EXPECT_LT(*mean.high, *forecast.high);
}

/// For a straight line the interval by an added row is the textbook prediction interval; a power
/// law on ln L is one.
TEST(Fit, AForecastOfAPowerLawHasTheTextbookInterval) {
  const Target target = golden_target("power_c");
  const Minimum best = search(target, 8).best;
  const Noise noise = noise_of(target, best, 0.95, std::nullopt);
  const double flops = golden()["held_out_flops"];
  double mean = 0, spread = 0;
  for (const Row& row : target.rows) mean += std::log(row.point.flops) / 5;
  for (const Row& row : target.rows) spread += std::pow(std::log(row.point.flops) - mean, 2);
  const double leverage = 1.0 / 5 + std::pow(std::log(flops) - mean, 2) / spread;
  const double half = 3.182446305284263 * noise.one_run * std::sqrt(1 + leverage);
  const double centre =
      std::log(predict(*target.law, best.coefficients, best.exponents, {.flops = flops}));
  const Interval found = forecast_interval(target, best, noise, {.flops = flops});
  EXPECT_NEAR(std::log(*found.low), centre - half, 1e-5);
  EXPECT_NEAR(std::log(*found.high), centre + half, 1e-5);
}

TEST(Fit, HuberResistsAnOutlierThatLeastSquaresFollows) {
  const tests::Truth truth{1.5, 1000, 0.25};
  Target target{.law = &law_named("loss_c").entry};
  for (const auto& row : tests::rows_of(truth, 20, 1e11, 1e15, 1e-4)) {
    target.rows.push_back({.point = point_of(row), .loss = row.loss});
  }
  target.rows[0].loss *= 1.2;
  const Minimum squares = search(target, 8).best;
  target.huber_delta = 1e-3;
  const Minimum robust = search(target, 8).best;
  EXPECT_NEAR(robust.exponents[0], truth.alpha, 0.002);
  EXPECT_GT(std::abs(squares.exponents[0] - truth.alpha), 0.02);
}

TEST(Fit, AnOffsetThatDataDoNotWantEndsAtExactlyZero) {
  Target target{.law = &law_named("loss_c").entry};
  // Steeper at the end than a power law: an offset could only make it worse.
  for (int i = 0; i < 6; ++i) {
    const double flops = std::pow(10, 18 + i * 0.4);
    target.rows.push_back(
        {.point = {.flops = flops}, .loss = 0.9 * std::pow(flops / 1e18, -0.05 - 0.004 * i)});
  }
  const Minimum best = search(target, 8).best;
  EXPECT_EQ(best.coefficients[0], 0);
  EXPECT_EQ(best.bounds_hit, std::vector<std::string>{"E = 0"});
}

TEST(Noise, NeedsMoreRowsThanParameters) {
  Target target{.law = &law_named("power_c").entry};
  target.rows = {{.point = {.flops = 1e18}, .loss = 1}, {.point = {.flops = 1e19}, .loss = 0.9}};
  try {
    noise_of(target, search(target, 2).best, 0.95, std::nullopt);
    FAIL();
  } catch (const base::Error& error) {
    EXPECT_STREQ(error.what(),
                 "as many parameters as rows leave nothing to judge the noise by: 2 parameters, 2 "
                 "rows; add rows");
  }
}

TEST(Noise, IsNeverBelievedToBeBelowAKnownFloor) {
  const Target target = golden_target("loss_c");
  const Minimum best = search(target, 8).best;
  EXPECT_LT(noise_of(target, best, 0.95, std::nullopt).one_run, 0.02);
  EXPECT_EQ(noise_of(target, best, 0.95, 0.02).one_run, 0.02);
}

TEST(Objective, TheStandardErrorOfAPowerLawIsWhatItsProfileShows) {
  // ln L is linear in ln A and alpha, so that the curvature says all.
  Target target{.law = &law_named("power_c").entry};
  base::RandomStream random(2, "noise");
  for (int i = 0; i < 30; ++i) {
    const double flops = 1e12 * std::pow(1.6, i);
    target.rows.push_back({.point = {.flops = flops},
                           .loss = 900 * std::pow(flops, -0.2) * std::exp(0.01 * random.normal())});
  }
  const Minimum best = search(target, 4).best;
  const Objective objective(target);
  const Noise noise = noise_of(objective, best, 0.95, std::nullopt);
  const double reach = std::sqrt(noise.threshold() * noise.variance);
  const Interval scale = profile_interval(objective, best, noise, "A");
  const Interval slope = profile_interval(objective, best, noise, "alpha");
  EXPECT_NEAR(std::log(*scale.high / *scale.low) / 2, reach * *objective.standard_error(best, 0),
              1e-4 * std::log(*scale.high / *scale.low));
  EXPECT_NEAR((*slope.high - *slope.low) / 2, reach * *objective.standard_error(best, 1),
              1e-4 * (*slope.high - *slope.low));
}

TEST(Bootstrap, DrawsTheRowsOfOneRunTogether) {
  // Twelve runs of ten rows, each off the law by as much as its run: taken for 120 runs, the rows
  // say far more than they know.
  Target target{.law = &law_named("power_c").entry};
  base::RandomStream random(3, "noise");
  for (int run = 0; run < 12; ++run) {
    const double off = 0.02 * random.normal();
    for (int i = 0; i < 10; ++i) {
      const double flops = 1e12 * std::pow(3, run) * (1 + 0.01 * i);
      target.rows.push_back({.point = {.flops = flops},
                             .loss = 900 * std::pow(flops, -0.2) * std::exp(off),
                             .run = run});
    }
  }
  const Minimum best = search(target, 4).best;
  const auto width = [&](const Target& rows) {
    const Interval alpha = bootstrap(rows, best, 400, 0.95, 1).intervals[1];
    return *alpha.high - *alpha.low;
  };
  Target apart = target;
  for (Row& row : apart.rows) row.run = kOwnRun;
  EXPECT_GT(width(target), 2 * width(apart));
}

TEST(Bootstrap, IsDeterministicAndCountsDrawsThatCannotBeFitted) {
  const Target target = golden_target("loss_c");
  const Minimum best = search(target, 8).best;
  const Bootstrap first = bootstrap(target, best, 60, 0.9, 7);
  const Bootstrap again = bootstrap(target, best, 60, 0.9, 7);
  EXPECT_EQ(first.failures, again.failures);
  EXPECT_EQ(*first.intervals[2].low, *again.intervals[2].low);
  // Five runs drawn from five: some draws hold fewer than three budgets.
  EXPECT_GT(first.failures, 0);
  EXPECT_LT(first.failures, 30);
}

}  // namespace
}  // namespace windtunnel::scaling
