#include "scaling/gate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/scaling/synthetic.h"

namespace windtunnel::scaling {
namespace {

constexpr tests::Truth kTruth{1.6, 1500, 0.27};

Gate gate_of(const std::vector<Observation>& rows, const std::string& law) {
  const FitOptions options{.law = law};
  return run_gate(target_of(rows, options), rows, options);
}

TEST(Gate, WindowsExpandAndCoverEveryLaterRowOnce) {
  const auto rows = tests::rows_of(kTruth, 15, 1e11, 1e15, 0.002);
  const Gate gate = gate_of(rows, "loss_c");
  ASSERT_EQ(gate.windows.size(), 10u);
  int tested = 0;
  for (size_t i = 0; i < gate.windows.size(); ++i) {
    const Window& window = gate.windows[i];
    EXPECT_EQ(window.rows_fitted, 5 + static_cast<int>(i));
    EXPECT_NEAR(window.ratio, std::pow(1e4, 1.0 / 14), 1e-6);
    tested += window.rows_tested;
    ASSERT_EQ(window.outcomes.size(), 1u);
    const HeldOut& outcome = window.outcomes[0];
    EXPECT_EQ(outcome.name, "r" + std::to_string(5 + i));
    EXPECT_EQ(outcome.measured, rows[5 + i].loss);
    EXPECT_EQ(outcome.covered, outcome.interval.holds(outcome.measured));
    EXPECT_NEAR(std::abs(outcome.relative_error), window.error, 1e-12);
  }
  EXPECT_EQ(tested, 10);
  EXPECT_EQ(gate.tested, 10);
  EXPECT_GE(gate.covered, 8);
  EXPECT_EQ(gate.note, "");
}

TEST(Gate, AWrongLawShowsAsModelError) {
  const auto rows = tests::rows_of(kTruth, 15, 1e11, 1e16, 0.0005);
  const Gate right = gate_of(rows, "loss_c");
  const Gate wrong = gate_of(rows, "power_c");
  EXPECT_LT(right.model_error, 0.002);
  EXPECT_GT(wrong.model_error, 0.005);
}

TEST(Gate, ForecastsCarryTheModelErrorAndAMarkBeyondTheTestedRatio) {
  const auto rows = tests::rows_of(kTruth, 15, 1e11, 1e16, 0.0005);
  const LawFit fit = fit_law(rows, {.law = "power_c", .gate = true},
                             {{"near", {.flops = 1.5e16}}, {"far", {.flops = 1e18}}});
  const Forecast& near = fit.forecasts[0];
  ASSERT_TRUE(near.interval_with_model_error);
  EXPECT_LT(*near.interval_with_model_error->low, *near.interval.low);
  EXPECT_GT(*near.interval_with_model_error->high, *near.interval.high);
  EXPECT_FALSE(near.beyond_tested);
  EXPECT_TRUE(fit.forecasts[1].beyond_tested);
  EXPECT_THAT(fit_page(fit), testing::HasSubstr("beyond what was tested: no hold-out lay further"));
}

TEST(Gate, ARunIsNotTestedByItsOwnEarlierCheckpoints) {
  std::vector<Observation> rows = tests::rows_of(kTruth, 40, 1e11, 1e15, 0.002);
  // The last five rows and five of the first are of one run.
  for (const size_t i : {0, 5, 10, 15, 20, 35, 36, 37, 38, 39}) rows[i].run = "one";
  const Gate gate = gate_of(rows, "loss_c");
  ASSERT_FALSE(gate.windows.empty());
  const Window& last = gate.windows.back();
  EXPECT_EQ(last.rows_fitted + last.rows_tested, 40 - 5 - (5 - std::min(5, last.rows_tested)));
}

TEST(Gate, TooFewBudgetsSayWhyThereIsNone) {
  const Gate gate = gate_of(tests::rows_of(kTruth, 5, 1e11, 1e13), "loss_c");
  EXPECT_TRUE(gate.windows.empty());
  EXPECT_THAT(gate.note, testing::HasSubstr("5 rows leave no larger budget"));
}

}  // namespace
}  // namespace windtunnel::scaling
