#include "scaling/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/scaling/synthetic.h"

namespace windtunnel::scaling {
namespace {

constexpr double kE = 1.7, kA = 400, kB = 1500, kAlpha = 0.34, kBeta = 0.36;

double loss(double n, double d) {
  return kE + kA * std::pow(n, -kAlpha) + kB * std::pow(d, -kBeta);
}

/// Along `ratios` tokens per parameter.
LawFit fit_of(const std::vector<double>& ratios, double noise, int draws) {
  base::RandomStream random(2, "plan");
  std::vector<Observation> rows;
  for (int size = 0; size < 8; ++size) {
    for (const double ratio : ratios) {
      const double n = 1e7 * std::pow(10, size * 0.3);
      Observation row = tests::row("r" + std::to_string(rows.size()), 6 * n * n * ratio,
                                   loss(n, ratio * n) * std::exp(noise * random.normal()));
      row.parameters_active = n;
      row.tokens = ratio * n;
      rows.push_back(row);
    }
  }
  return fit_law(rows, {.law = "loss_nd", .bootstrap = draws});
}

TEST(Plan, ExactDataGiveTheClosedFormAndTheTrueCostOfAWrongSize) {
  const ComputePlan plan = plan_compute(fit_of({10, 40}, 0, 0), 1e22);
  const double ab = kAlpha + kBeta;
  const double size = std::pow(kAlpha * kA / (kBeta * kB), 1 / ab) * std::pow(1e22 / 6, kBeta / ab);
  EXPECT_NEAR(plan.parameters / size, 1, 1e-5);
  EXPECT_NEAR(6 * plan.parameters * plan.tokens / 1e22, 1, 1e-9);
  for (const WrongChoice& choice : plan.wrong_choices) {
    const double n = choice.factor * size;
    EXPECT_NEAR(choice.loss_lost, loss(n, 1e22 / 6 / n) - loss(size, 1e22 / 6 / size), 1e-6);
    EXPECT_GT(choice.loss_lost, 0);
  }
  EXPECT_THAT(plan.warnings, testing::Contains(testing::HasSubstr("no bootstrap draws")));
}

TEST(Plan, IntervalsHoldTheTruthAndGrowWithTheBudget) {
  const LawFit fit = fit_of({10, 40}, 0.002, 300);
  const ComputePlan near = plan_compute(fit, 1e21), far = plan_compute(fit, 1e24);
  EXPECT_TRUE(near.loss_interval.holds(plan_compute(fit_of({10, 40}, 0, 0), 1e21).loss));
  const auto width = [](const Interval& interval) { return *interval.high / *interval.low; };
  EXPECT_GT(width(far.parameters_interval), width(near.parameters_interval));
  EXPECT_THAT(far.warnings, testing::Contains(testing::HasSubstr("times the largest fitted")));
}

TEST(Plan, ABudgetIsCountedAsTheRowsOfALawOfComputeAre) {
  // C of these rows counts 1.6 times what the weights do.
  const auto rows = [](double factor, double last) {
    std::vector<Observation> made;
    for (int i = 0; i < 10; ++i) {
      const double n = 1e7 * std::pow(10, 0.3 * i), six_nd = 6 * n * 20 * n;
      const double flops = (i == 9 ? last : factor) * six_nd;
      made.push_back(tests::row("r" + std::to_string(i), flops, 2 + 900 * std::pow(six_nd, -0.17)));
      made.back().parameters_active = n;
      made.back().tokens = 20 * n;
    }
    return made;
  };
  const ComputePlan plan = plan_compute(fit_law(rows(1.6, 1.6), {.law = "loss_c"}), 1.6e22);
  const double n = std::sqrt(1e22 / 120);
  EXPECT_NEAR(plan.parameters / n, 1, 1e-9);
  EXPECT_NEAR(plan.loss, 2 + 900 * std::pow(1e22, -0.17), 1e-4);
  EXPECT_EQ(plan.flops_convention, convention::kAsGiven);
  const LawFit mixed = fit_law(rows(1.6, 1.1), {.law = "loss_c"});
  EXPECT_THAT([&] { plan_compute(mixed, 1e22); },
              testing::ThrowsMessage<base::Error>(
                  testing::HasSubstr("C of the rows goes from 1.1 to 1.6 times 6ND")));
}

TEST(Plan, TheNextRungLowersTheErrorOfTheForecast) {
  const ComputePlan plan = plan_compute(fit_of({10, 40}, 0.002, 0), 1e23);
  ASSERT_FALSE(plan.next_rungs.empty());
  double best = 0;
  for (const NextRung& rung : plan.next_rungs) {
    EXPECT_LT(rung.sd_after, rung.sd_now);
    const double gain = (rung.sd_now * rung.sd_now - rung.sd_after * rung.sd_after) / rung.flops;
    if (best > 0) EXPECT_LE(gain, best);
    best = gain;
  }
}

TEST(Plan, ALawOfComputeHasNoBestSize) {
  const LawFit fit = fit_law(tests::rows_of({1.6, 1500, 0.27}, 12, 1e11, 1e15, 0.001), {});
  try {
    plan_compute(fit, 1e20);
    FAIL();
  } catch (const base::Error& error) {
    EXPECT_STREQ(error.what(),
                 "law loss_c has no best size for a budget; fit loss_nd or overtrain_nm");
  }
}

TEST(Identifiability, OneRatioOfTokensToSizeIsNotEnoughAndTwoAre) {
  const LawFit one = fit_of({20}, 0.001, 0), two = fit_of({10, 40}, 0.001, 0);
  EXPECT_NE(one.verdict.parameters.at("alpha").verdict, identified::kIdentified);
  EXPECT_THAT(one.verdict.parameters.at("alpha").cures,
              testing::Contains("train the next rungs at 10 and 40 tokens per parameter in turn"));
  EXPECT_GT(one.diagnostics.condition.value_or(1e99), 1e3);
  EXPECT_LT(*two.diagnostics.condition, 1e3);
  EXPECT_EQ(two.verdict.overall, identified::kIdentified);
}

}  // namespace
}  // namespace windtunnel::scaling
