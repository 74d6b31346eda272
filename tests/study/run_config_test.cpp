#include "study/run_config.h"

#include <gmock/gmock.h>

#include "base/error.h"
#include "model/census.h"
#include "study/run_record.h"

namespace windtunnel::study {
namespace {

using ::testing::HasSubstr;

std::string refusal(const base::Json& document) {
  try {
    resolve_run_config(document, "run.json");
  } catch (const base::ConfigError& error) {
    return error.what();
  }
  return "(accepted)";
}

base::Json tiny() { return {{"model", {{"vocabulary_size", 300}}}}; }

TEST(RunConfig, AnUnknownKeyIsRefusedWithItsPath) {
  base::Json document = tiny();
  document["train"]["optimizer"]["lerning_rate"] = 0.1;
  EXPECT_THAT(refusal(document),
              HasSubstr("train.optimizer.lerning_rate = 0.1: unknown key; did you mean "
                        "'train.optimizer.learning_rate'?"));
}

TEST(RunConfig, ABudgetOfZeroIsRefused) {
  base::Json document = tiny();
  document["train"]["budget"]["amount"] = 0;
  EXPECT_THAT(refusal(document),
              HasSubstr("train.budget.amount = 0: must be of type number and > 0"));
}

TEST(RunConfig, AnIllegalPatternLetterIsRefusedWithACaret) {
  base::Json document = tiny();
  document["model"]["pattern"] = "*D*Q";
  EXPECT_THAT(refusal(document), HasSubstr("model.pattern"));
  EXPECT_THAT(refusal(document), HasSubstr("^"));
}

TEST(RunConfig, AStepThatIsNoWholeNumberOfRowsIsRefused) {
  base::Json document = tiny();
  document["train"]["tokens_per_step"] = 1000;
  EXPECT_THAT(refusal(document), HasSubstr("must be a multiple of model.context_tokens = 256"));
}

TEST(RunConfig, AStepScheduleThatEndsInItsWarmUpIsRefused) {
  base::Json document = tiny();
  document["train"]["schedule"] = {{"kind", "step_cosine"}, {"estimated_steps", 100}};
  EXPECT_THAT(refusal(document), HasSubstr("train.schedule.estimated_steps = 100: must be more "
                                           "than train.schedule.warmup_steps = 100"));
  document["train"]["schedule"]["kind"] = "cosine";
  EXPECT_EQ(refusal(document), "(accepted)");
}

TEST(RunConfig, TheSeedIsNoPartOfTheFingerprint) {
  base::Json one = tiny(), two = tiny(), other = tiny();
  two["train"]["seed"] = 9;
  other["train"]["tokens_per_step"] = 4096;
  const auto print = [](const base::Json& document) {
    return config_fingerprint(resolve_run_config(document, "run.json"));
  };
  EXPECT_EQ(print(one), print(two));
  EXPECT_NE(print(one), print(other));
}

TEST(RunConfig, ResolvingTwiceChangesNothing) {
  const RunConfig once = resolve_run_config(tiny(), "run.json");
  const RunConfig twice = resolve_run_config(base::to_json(once), "run.json");
  EXPECT_EQ(base::to_json(once), base::to_json(twice));
}

TEST(RunConfig, PlannedStepsFollowTheBudget) {
  base::Json document = tiny();
  const auto steps = [&](const std::string& kind, double amount) {
    document["train"]["budget"] = {{"kind", kind}, {"amount", amount}};
    return planned_steps(resolve_run_config(document, "run.json"));
  };
  const RunConfig config = resolve_run_config(tiny(), "run.json");
  const model::Census census = model::census(config.model, config.train.tokens_per_step);
  EXPECT_EQ(steps("seconds", 10), 0);
  EXPECT_EQ(steps("steps", 7), 7);
  EXPECT_EQ(steps("tokens", 20'480), 10);
  EXPECT_EQ(steps("flops", census.flops_per_token_exact * 20'480), 10);
  EXPECT_EQ(steps("tokens_per_parameter", 20),
            std::llround(20.0 * static_cast<double>(census.parameters_active) / 2048));
}

TEST(Comparability, DataBudgetDeviceAndThreadsSeparateAndModelsDoNot) {
  RunConfig config = resolve_run_config(tiny(), "run.json");
  const std::string key = comparability_key(config, "data", "code");
  EXPECT_NE(comparability_key(config, "other data", "code"), key);
  EXPECT_NE(comparability_key(config, "data", "other code"), key);
  RunConfig wider = config;
  wider.model.width = 128;
  EXPECT_EQ(comparability_key(wider, "data", "code"), key);
  RunConfig longer = config;
  longer.train.budget.amount *= 2;
  EXPECT_NE(comparability_key(longer, "data", "code"), key);
  RunConfig threads = config;
  threads.train.threads = 4;
  EXPECT_NE(comparability_key(threads, "data", "code"), key);
}

}  // namespace
}  // namespace windtunnel::study
