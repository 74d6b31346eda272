#include "scaling/row_noise.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/scaling/synthetic.h"

namespace windtunnel::scaling {
namespace {

constexpr tests::Truth kTruth{0, 40, 0.1};

/// Rows of a power law; `errors` (relative) are recorded, and each loss is off by its error and by
/// `between` besides.
std::vector<Observation> noisy_rows(const std::vector<double>& errors, double between,
                                    uint64_t seed) {
  base::RandomStream random(seed, "noisy rows");
  std::vector<Observation> rows =
      tests::rows_of(kTruth, static_cast<int>(errors.size()), 1e15, 1e20);
  for (size_t i = 0; i < rows.size(); ++i) {
    rows[i].loss *= std::exp(std::hypot(errors[i], between) * random.normal());
    rows[i].loss_standard_error = errors[i] * rows[i].loss;
  }
  return rows;
}

/// Every third row is ten times as noisy.
std::vector<double> uneven_errors() {
  std::vector<double> errors;
  for (int i = 0; i < 18; ++i) errors.push_back(i % 3 == 0 ? 0.02 : 0.002);
  return errors;
}

FitOptions options_with(const std::string& weights) {
  return {.law = "power_c", .starts = 4, .weights = weights};
}

TEST(RowNoise, WeightedFitsOfUnevenRowsAreCloserToTheTruth) {
  double weighted = 0, alike = 0;
  constexpr int kSets = 200;
  for (int set = 0; set < kSets; ++set) {
    const auto rows = noisy_rows(uneven_errors(), 0.001, static_cast<uint64_t>(set));
    const auto miss = [&](const char* weights) {
      const double off = fit_law(rows, options_with(weights)).parameters.at("alpha") - kTruth.alpha;
      return off * off;
    };
    weighted += miss("noise");
    alike += miss("none");
  }
  // Of a line through rows of these variances, the variance of the slope falls 20-fold.
  EXPECT_LT(weighted, 0.1 * alike);
}

TEST(RowNoise, IntervalsOfUnevenRowsHoldTheTruthAtTheirRate) {
  int covered = 0;
  constexpr int kSets = 400;
  for (uint64_t set = 0; set < kSets; ++set) {
    const auto rows = noisy_rows(uneven_errors(), 0.003, 1000 + set);
    covered +=
        fit_law(rows, options_with("noise")).intervals.profile.at("alpha").holds(kTruth.alpha);
  }
  // Three binomial standard deviations of 400 draws at 95 %, and the error of an estimated tau.
  EXPECT_NEAR(covered / static_cast<double>(kSets), 0.95, 0.045);
}

TEST(RowNoise, WhatRunsDifferByIsEstimatedAndEvensTheWeights) {
  double sum = 0;
  constexpr int kSets = 100;
  for (int set = 0; set < kSets; ++set) {
    const auto rows = noisy_rows(uneven_errors(), 0.05, static_cast<uint64_t>(set));
    const RowNoise noise = fit_law(rows, options_with("noise")).row_noise;
    EXPECT_TRUE(noise.is_used);
    sum += *noise.between_runs;
    EXPECT_LT(*noise.largest / *noise.smallest, 1.3) << "errors alone are 10 apart";
  }
  EXPECT_NEAR(sum / kSets, 0.05, 0.005);
}

TEST(RowNoise, AgreesWithWeightedLeastSquaresDoneByHand) {
  const auto rows = noisy_rows(uneven_errors(), 0, 3);
  FitOptions options = options_with("noise");
  options.noise_floor = 0.004;
  const LawFit fit = fit_law(rows, options);
  double w_sum = 0, x_mean = 0, y_mean = 0;
  const auto weight = [](const Observation& row) {
    const double error = *row.loss_standard_error / row.loss;
    return 1 / (0.004 * 0.004 + error * error);
  };
  for (const Observation& row : rows) {
    w_sum += weight(row);
    x_mean += weight(row) * std::log(*row.flops);
    y_mean += weight(row) * std::log(row.loss);
  }
  x_mean /= w_sum;
  y_mean /= w_sum;
  double xx = 0, xy = 0;
  for (const Observation& row : rows) {
    const double x = std::log(*row.flops) - x_mean;
    xx += weight(row) * x * x;
    xy += weight(row) * x * (std::log(row.loss) - y_mean);
  }
  EXPECT_NEAR(fit.parameters.at("alpha"), -xy / xx, 1e-8);
  EXPECT_TRUE(fit.row_noise.is_given);
  EXPECT_THAT(fit_page(fit), testing::HasSubstr("rows weighted by their noise"));
  EXPECT_THAT(fit.methods, testing::HasSubstr("0.004 between runs (given)"));
}

TEST(RowNoise, WithoutAllStandardErrorsRowsWeighAlikeAndThePageSaysWhy) {
  auto rows = noisy_rows(uneven_errors(), 0, 3);
  rows[1].loss_standard_error.reset();
  const LawFit some = fit_law(rows, options_with("noise"));
  EXPECT_FALSE(some.row_noise.is_used);
  EXPECT_THAT(fit_page(some),
              testing::HasSubstr("rows weighted alike (1 of 18 rows have no standard error"));
  const LawFit none = fit_law(noisy_rows(uneven_errors(), 0, 3), options_with("none"));
  EXPECT_THAT(none.methods, testing::HasSubstr("rows weighted alike (asked for)"));
}

TEST(RowNoise, AStandardErrorThatIsNotPositiveIsNamed) {
  auto rows = noisy_rows(uneven_errors(), 0, 3);
  rows[4].loss_standard_error = 0;
  try {
    fit_law(rows, options_with("noise"));
    FAIL();
  } catch (const base::Error& error) {
    EXPECT_STREQ(error.what(),
                 "r4: standard error of the loss = 0 must be a positive number; correct it, or fit "
                 "with --weights none");
  }
}

TEST(RowNoise, ErrorsOfOneTextAreSharedAndWeighNothing) {
  std::vector<Observation> rows = noisy_rows(uneven_errors(), 0.001, 1);
  for (Observation& row : rows) row.scored_text = "a";
  const LawFit fit = fit_law(rows, options_with("noise"));
  EXPECT_FALSE(fit.row_noise.is_used);
  EXPECT_THAT(fit.methods, testing::HasSubstr("scored on one text, whose error they share"));
  // Where texts differ, so do their errors.
  rows[0].scored_text = "b";
  EXPECT_TRUE(fit_law(rows, options_with("noise")).row_noise.is_used);
}

TEST(RowNoise, ARowThatIsKnownToBeNoisyWidensNothing) {
  std::vector<double> errors(30, 0.003);
  std::vector<Observation> rows = noisy_rows(errors, 0, 4);
  const auto width = [](const LawFit& fit) {
    const Interval& alpha = fit.intervals.profile.at("alpha");
    return *alpha.high - *alpha.low;
  };
  const double without = width(fit_law(rows, options_with("noise")));
  rows[6].loss *= std::exp(0.5);
  rows[6].loss_standard_error = 0.5 * rows[6].loss;
  EXPECT_NEAR(width(fit_law(rows, options_with("noise"))) / without, 1, 0.25);
}

TEST(RowNoise, AHeldOutRowIsHeldAgainstItsOwnError) {
  int covered = 0;
  constexpr int kSets = 200;
  for (uint64_t set = 0; set < kSets; ++set) {
    std::vector<double> errors(25, 0.003);
    errors.back() = 0.05;
    std::vector<Observation> rows = noisy_rows(errors, 0, 3000 + set);
    const Observation last = rows.back();
    rows.pop_back();
    const LawFit fit = fit_law(rows, options_with("noise"),
                               {{last.name, point_of(last), last.loss_standard_error}});
    covered += fit.forecasts[0].interval.holds(last.loss) ? 1 : 0;
  }
  EXPECT_NEAR(covered / static_cast<double>(kSets), 0.95, 3 * std::sqrt(0.95 * 0.05 / kSets));
}

}  // namespace
}  // namespace windtunnel::scaling
