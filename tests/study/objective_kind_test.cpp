#include "study/objective_kind.h"

#include <gmock/gmock.h>

#include "model/census.h"

namespace windtunnel::study {
namespace {

using ::testing::HasSubstr;

base::Json small() {
  return {{"model", {{"vocabulary_size", 300}, {"context_tokens", 64}, {"width", 32}}},
          {"train", {{"tokens_per_step", 512}}}};
}

RunConfig with(const std::string& path, const base::Json& value, base::Json document = small()) {
  base::set_path(document, path, value);
  return resolve_run_config(document, "run.json");
}

std::string refusal(const std::string& path, const base::Json& value,
                    const base::Json& document = small()) {
  try {
    with(path, value, document);
  } catch (const base::ConfigError& error) {
    return error.what();
  }
  return "(accepted)";
}

TEST(ObjectiveKinds, EachHasAMemberOfItsNameAndItsOptions) {
  const base::Json all = base::to_json(ObjectivesConfig{});
  EXPECT_EQ(ObjectiveKinds::instance().kinds().size(), all.size());
  for (const auto& kind : ObjectiveKinds::instance().kinds()) {
    ASSERT_TRUE(all.contains(kind.name)) << kind.name;
    for (const auto& [option, schema] : kind.options.at("properties").items()) {
      EXPECT_EQ(schema.at("default"), all.at(kind.name).at(option)) << kind.name << "." << option;
      EXPECT_FALSE(schema.at("description").get<std::string>().empty());
    }
  }
}

TEST(ObjectiveKinds, WhatReachesBeyondTheContextIsRefused) {
  EXPECT_THAT(refusal("train.objectives.multi_token.heads", 64),
              HasSubstr("train.objectives.multi_token.heads = 64: must be smaller than "
                        "model.context_tokens = 64"));
  EXPECT_EQ(refusal("train.objectives.multi_token.heads", 63), "(accepted)");
  EXPECT_THAT(refusal("train.objectives.token_order", {{"weight", 1}, {"window", 65}}),
              HasSubstr("train.objectives.token_order.window = 65: must be at most "
                        "model.context_tokens = 64"));
  EXPECT_EQ(refusal("train.objectives.token_order", {{"weight", 1}, {"window", 64}}), "(accepted)");
  EXPECT_THAT(refusal("train.objectives.future_bag", {{"weight", 1}, {"window", 65}}),
              HasSubstr("train.objectives.future_bag.window = 65"));
  EXPECT_THAT(refusal("train.objectives.future_hidden", {{"weight", 1}, {"ahead", 64}}),
              HasSubstr("train.objectives.future_hidden.ahead = 64: must be smaller than"));
  // An objective that is off has no rule.
  EXPECT_EQ(refusal("train.objectives.future_hidden", {{"weight", 0}, {"ahead", 64}}),
            "(accepted)");
}

TEST(ObjectiveKinds, WhatReachesBeyondTheFirstRowsOfAWarmUpIsRefused) {
  base::Json document = small();
  document["train"]["objectives"]["sequence_warm_up"]["start_fraction"] = 0.125;
  EXPECT_THAT(refusal("train.objectives.multi_token.heads", 8, document),
              HasSubstr("must be smaller than the 8 tokens of the first rows, "
                        "train.objectives.sequence_warm_up.start_fraction x "
                        "model.context_tokens = 64"));
}

TEST(ObjectiveKinds, ALengthThatDoesNotDivideTheContextIsRefused) {
  for (const double fraction : {0.3, 0.75, 1.0 / 64, 1e-9}) {
    EXPECT_THAT(refusal("train.objectives.sequence_warm_up.start_fraction", fraction),
                HasSubstr("must give rows of 2 or more tokens that divide model.context_tokens = "
                          "64, for instance 0.5"))
        << fraction;
  }
}

TEST(ObjectiveKinds, AValueOutOfRangeIsRefused) {
  EXPECT_THAT(refusal("train.objectives.selective.keep", 0),
              HasSubstr("train.objectives.selective.keep = 0"));
  EXPECT_THAT(refusal("train.objectives.output_centering.kind", "mu"),
              HasSubstr("train.objectives.output_centering.kind = \"mu\""));
  EXPECT_THAT(refusal("train.embedding_noise.site", "logits"),
              HasSubstr("train.embedding_noise.site = \"logits\""));
  EXPECT_THAT(refusal("train.objectives.token_oder", base::Json::object()),
              HasSubstr("did you mean 'train.objectives.token_order'?"));
}

TEST(ObjectiveKinds, RowsGrowThroughTheDivisorsOfTheContext) {
  const RunConfig config =
      with("train.objectives.sequence_warm_up", {{"start_fraction", 0.125}, {"share", 0.5}});
  EXPECT_EQ(row_tokens_at(config, 0), 8);
  EXPECT_EQ(row_tokens_at(config, 0.07), 8);
  EXPECT_EQ(row_tokens_at(config, 0.08), 16);
  EXPECT_EQ(row_tokens_at(config, 0.3), 32);
  EXPECT_EQ(row_tokens_at(config, 0.5), 64);
  EXPECT_EQ(row_tokens_at(config, 1), 64);
  EXPECT_EQ(row_tokens_at(with("train.seed", 1), 0), 64);
}

TEST(ObjectivesCost, IsZeroWhenAllAreOff) {
  const ObjectiveCost cost = objectives_cost(with("train.seed", 1));
  EXPECT_EQ(cost.parameters_total(), 0);
  EXPECT_EQ(cost.flops_per_token, 0);
  EXPECT_EQ(cost.memory_bytes(512), 0);
}

TEST(ObjectivesCost, CountsHeadsAndPredictors) {
  const double table = 300 * 32;
  const ObjectiveCost order = objectives_cost(with("train.objectives.token_order.weight", 1));
  EXPECT_EQ(order.parameters_total(), 300 * 32);
  EXPECT_EQ(order.flops_per_token, 6 * table);
  // Weight, gradient and two moments, logits and their gradient.
  EXPECT_EQ(order.memory_bytes(512), 4 * (4 * table + 512 * 600));
  const ObjectiveCost heads = objectives_cost(with("train.objectives.multi_token.heads", 3));
  EXPECT_EQ(heads.parameters_total(), 3 * 32 * 32);
  EXPECT_EQ(heads.flops_per_token, 3 * 6 * (table + 32 * 32));
  const ObjectiveCost hidden = objectives_cost(with("train.objectives.future_hidden.weight", 1));
  EXPECT_EQ(hidden.flops_per_token, 12 * 32 * 32);
}

TEST(ObjectivesCost, ASecondForwardPassIsCountedOnce) {
  base::Json document = small();
  document["train"]["objectives"]["selective"]["keep"] = 0.5;
  document["train"]["objectives"]["row_weights"]["strength"] = 1;
  const RunConfig whole = resolve_run_config(document, "run.json");
  EXPECT_EQ(objectives_cost(whole).flops_per_token, 0);
  const RunConfig parts = with("train.micro_batch_rows", 2, document);
  EXPECT_NEAR(objectives_cost(parts).flops_per_token,
              model::census(parts.model, 512).flops_per_token_exact / 3, 1e-6);
}

TEST(ObjectivesCost, AWarmUpSavesTheScoresOfTheKeysItDoesNotSee) {
  // One attention layer of 32 query features that sees all. Rows of 32 see 16.5 keys on average,
  // rows of 64 see 32.5; half of the budget is on the short ones.
  base::Json document = small();
  document["model"]["pattern"] = "*D";
  document["train"]["objectives"]["sequence_warm_up"] = {{"start_fraction", 0.5}, {"share", 0.5}};
  const RunConfig config = resolve_run_config(document, "run.json");
  EXPECT_NEAR(objectives_cost(config).flops_per_token, -3 * 4 * 32 * 16 * 0.5, 1e-6);
}

TEST(ObjectivesCost, TheBudgetOfFlopsPaysForIt) {
  base::Json document = small();
  const RunConfig plain = resolve_run_config(document, "run.json");
  const double per_step = 512 * training_flops_per_token(plain);
  EXPECT_EQ(training_flops_per_token(plain), model::census(plain.model, 512).flops_per_token_exact);
  document["train"]["budget"] = {{"kind", "flops"}, {"amount", 100 * per_step}};
  EXPECT_EQ(planned_steps(resolve_run_config(document, "run.json")), 100);
  const RunConfig costly = with("train.objectives.token_order.weight", 1, document);
  EXPECT_EQ(planned_steps(costly),
            std::llround(100 * per_step / (per_step + 512 * 6.0 * 300 * 32)));
  document["train"]["budget"] = {{"kind", "tokens_per_parameter"}, {"amount", 20}};
  EXPECT_EQ(planned_steps(with("train.objectives.token_order.weight", 1, document)),
            planned_steps(resolve_run_config(document, "run.json")));
}

}  // namespace
}  // namespace windtunnel::study
