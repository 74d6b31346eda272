#include "trainer/budget.h"

#include <gtest/gtest.h>

#include "model/census.h"
#include "tests/trainer/small_run.h"

namespace windtunnel::trainer {
namespace {

Budget budget_of(const std::string& kind, double amount) {
  study::RunConfig config = tests::small_config();
  config.train.budget = {.kind = kind, .amount = amount};
  return Budget(study::resolve_run_config(base::to_json(config), "test"));
}

TEST(Budget, SecondsCountMeasuredTrainingOnly) {
  const Budget budget = budget_of("seconds", 10);
  EXPECT_FALSE(budget.counts_steps());
  EXPECT_EQ(budget.progress({.steps = 1e6, .seconds = 2.5}), 0.25);
  EXPECT_FALSE(budget.exhausted({.steps = 1e6, .seconds = 9.999}));
  EXPECT_TRUE(budget.exhausted({.steps = 1, .seconds = 10}));
  EXPECT_EQ(budget.progress({.steps = 1, .seconds = 30}), 1);
}

TEST(Budget, StepsIgnoreTheClock) {
  const Budget budget = budget_of("steps", 8);
  EXPECT_TRUE(budget.counts_steps());
  EXPECT_EQ(budget.progress({.steps = 2, .seconds = 1e9}), 0.25);
  EXPECT_FALSE(budget.exhausted({.steps = 7, .seconds = 1e9}));
  EXPECT_TRUE(budget.exhausted({.steps = 8, .seconds = 0}));
}

TEST(Budget, TokensFlopsAndTokensPerParameterBecomeSteps) {
  EXPECT_EQ(budget_of("tokens", 640).planned_steps(), 10);
  const auto config = study::resolve_run_config(base::to_json(tests::small_config()), "test");
  const model::Census census = model::census(config.model, 64);
  EXPECT_EQ(budget_of("flops", 50 * 64 * census.flops_per_token_exact).planned_steps(), 50);
  const double expected = 2.0 * static_cast<double>(census.parameters_active) / 64;
  EXPECT_EQ(budget_of("tokens_per_parameter", 2).planned_steps(), std::llround(expected));
}

}  // namespace
}  // namespace windtunnel::trainer
