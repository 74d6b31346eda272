#include "scaling/tuned_optima.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "scaling/law_fit.h"
#include "tests/scaling/synthetic.h"

namespace windtunnel::scaling {
namespace {

using testing::HasSubstr;

/// Coefficients of Li et al. 2025, arXiv:2503.04715.
double best_rate(double n, double d) { return 1.79 * std::pow(n, -0.713) * std::pow(d, 0.307); }
double best_batch(double d) { return 0.58 * std::pow(d, 0.571); }

Observation run(double n, double d, double rate, double batch) {
  const double off = std::log(rate / best_rate(n, d)), wide = std::log(batch / best_batch(d));
  Observation row = tests::row("n" + std::to_string(n) + "d" + std::to_string(d) + "r" +
                                   std::to_string(rate) + "b" + std::to_string(batch),
                               6 * n * d, 2 * std::exp(0.02 * off * off + 0.01 * wide * wide));
  row.parameters_active = n;
  row.tokens = d;
  row.learning_rate = rate;
  row.batch_tokens = batch;
  return row;
}

/// Rates a factor of 3 and batches a factor of 2 apart around each optimum, off by up to 30 %.
Observations sweeps() {
  base::RandomStream random(5, "sweeps");
  Observations runs;
  for (const double n : {6e7, 1.2e8, 2.7e8, 5.4e8}) {
    for (const double ratio : {10.0, 40.0, 160.0}) {
      const double d = ratio * n;
      const double rate = best_rate(n, d) * random.uniform(0.7, 1.4);
      const double batch = best_batch(d) * random.uniform(0.8, 1.25);
      for (const int i : {-1, 0, 1}) {
        for (const int j : {-1, 0, 1}) {
          runs.rows.push_back(run(n, d, rate * std::pow(3, i), batch * std::pow(2, j)));
        }
      }
    }
  }
  return runs;
}

TEST(TunedOptima, LawsOfRatesAndBatchesAreRecoveredFromSweepsOfBoth) {
  const Observations rates = tuned_optima(sweeps(), Variable::kLearningRate);
  ASSERT_EQ(rates.rows.size(), 12u);
  const LawFit rate = fit_law(rates.rows, {.law = "rate_nd"});
  EXPECT_NEAR(rate.parameters.at("a"), 0.713, 1e-3);
  EXPECT_NEAR(rate.parameters.at("b"), 0.307, 1e-3);
  EXPECT_EQ(rate.loss_unit, "learning rate");
  const LawFit batch =
      fit_law(tuned_optima(sweeps(), Variable::kBatchTokens).rows, {.law = "batch_d"});
  EXPECT_NEAR(batch.parameters.at("b"), 0.571, 1e-3);
  EXPECT_NEAR(batch.parameters.at("c") / 0.58, 1, 0.02);
}

TEST(TunedOptima, ARateAtTheEdgeOfItsGridIsNoOptimum) {
  Observations runs;
  for (const double rate : {0.1, 0.2, 0.4}) runs.rows.push_back(run(1e8, 2e9, rate, 1e5));
  const Observations optima = tuned_optima(runs, Variable::kLearningRate);
  EXPECT_TRUE(optima.rows.empty());
  ASSERT_EQ(optima.left_out.size(), 1u);
  EXPECT_EQ(optima.left_out[0].reason, "the best lr of its size, 0.1, is the lowest of 3");
}

TEST(TunedOptima, OneRowOfASizeIsAnOptimumUnlessItSaysOtherwise) {
  Observations runs;
  runs.rows = {run(1e8, 2e9, 0.003, 1e5), run(2e8, 4e9, 0.002, 1e5), run(3e8, 6e9, 0.002, 1e5)};
  runs.rows[1].learning_rate_tuned = false;
  runs.rows[2].learning_rate.reset();
  const Observations optima = tuned_optima(runs, Variable::kLearningRate);
  ASSERT_EQ(optima.rows.size(), 1u);
  EXPECT_EQ(optima.rows[0].loss, 0.003);
  ASSERT_EQ(optima.left_out.size(), 2u);
  EXPECT_THAT(optima.left_out[0].reason + optima.left_out[1].reason,
              testing::AllOf(HasSubstr("and not tuned"), HasSubstr("has no lr")));
}

}  // namespace
}  // namespace windtunnel::scaling
