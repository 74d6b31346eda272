#include "agent/veto.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/census.h"
#include "tests/agent/small_program.h"

namespace windtunnel::agent {
namespace {

using base::Json;
using testing::baseline_of;
using testing::decided;
using ::testing::HasSubstr;
using testing::small_program;
using ::testing::StartsWith;

class BeforeRunVeto : public ::testing::Test {
 protected:
  std::string refused(const Json& patch, const std::vector<study::Experiment>& history = {}) const {
    return refused(patch, history, baseline_);
  }
  std::string refused(const Json& patch, const std::vector<study::Experiment>& history,
                      const Json& incumbent) const {
    const Candidate candidate = make_candidate(program_, incumbent, patch);
    const BeforeRun facts{program_, incumbent, history, patch, candidate};
    const std::string reason = text(refusals(facts));
    EXPECT_EQ(reason, text(refusals(facts))) << "a veto is pure";
    return reason;
  }

  Program program_ = small_program();
  Json baseline_ = baseline_of(program_);
};

TEST_F(BeforeRunVeto, LetsALegalChangePass) {
  EXPECT_EQ(refused({{"train.optimizer.learning_rate", 0.05}}), "");
}

TEST_F(BeforeRunVeto, SpaceRefusesFrozenUnlistedAndOutOfRange) {
  EXPECT_THAT(refused({{"train.seed", 2}}),
              HasSubstr("space: train.seed = 2: is frozen by 'train.seed'"));
  EXPECT_THAT(refused({{"model.width", 32}}), HasSubstr("is frozen by 'model.width'"));
  EXPECT_THAT(refused({{"model.context_tokens", 64}}), HasSubstr("is not one of the mutable"));
  EXPECT_THAT(refused({{"train.optimizer.learning_rate", 0.2}}),
              HasSubstr("must be a number >= 0.005 and <= 0.1"));
  EXPECT_THAT(refused({{"train.optimizer.learning_rate", "fast"}}), HasSubstr("must be a number"));
  EXPECT_THAT(refused({{"model.layers.E.num_experts", 5}}), HasSubstr("must be one of 4, 8, 16"));
  EXPECT_THAT(refused({{"model.layers", Json::object()}}), HasSubstr("is not one of the mutable"));
  EXPECT_THAT(refused(Json::object()), HasSubstr("must be an object with at least one path"));
}

TEST_F(BeforeRunVeto, SchemaRefusesWhatTheTrainerWould) {
  program_.mutable_paths[2].choices.push_back("*X");
  EXPECT_THAT(refused({{"model.pattern", "*X"}}), StartsWith("schema: "));
}

TEST_F(BeforeRunVeto, DuplicateRefusesIncumbentBaselineAndEarlierExperiments) {
  EXPECT_EQ(refused({{"model.pattern", "*D*E"}}),
            "duplicate: is the incumbent's own configuration");
  const Json patch = {{"model.layers.E.num_experts", 16}};
  const auto history = std::vector{decided(3, program_, baseline_, patch, 0.1, "random")};
  EXPECT_EQ(refused(patch, history), "duplicate: has the configuration of experiment 3");
  EXPECT_EQ(refused({{"model.layers.E.num_experts", 8}}, history, history[0].config),
            "duplicate: is the baseline's configuration");
}

TEST_F(BeforeRunVeto, DuplicateSeesThroughOptionsThatNoLayerUses) {
  const Json dense = {{"model.pattern", "*D*D"}};
  const auto history = std::vector{decided(1, program_, baseline_, dense, 0.1, "random")};
  EXPECT_EQ(refused({{"model.pattern", "*D*D"}, {"model.layers.E.num_experts", 16}}, history),
            "duplicate: has the configuration of experiment 1");
}

TEST_F(BeforeRunVeto, LimitsNameTheFigureAndTheLimit) {
  const Json patch = {{"model.layers.E.num_experts", 16}};
  const Candidate candidate = make_candidate(program_, baseline_, patch);
  const model::Census census = model::census(candidate.config->model, 256);
  program_.guardrails.max_parameters_total = census.parameters_total;
  EXPECT_EQ(refused(patch), "");
  program_.guardrails.max_parameters_total = census.parameters_total - 1;
  EXPECT_THAT(refused(patch), StartsWith("limits: total parameters "));
  program_.guardrails.max_parameters_total = 0;
  program_.guardrails.max_parameters_active = 10;
  program_.guardrails.max_flops_per_token = 10;
  program_.guardrails.max_memory_bytes = 10;
  const std::string all = refused(patch);
  EXPECT_THAT(all, HasSubstr("active parameters "));
  EXPECT_THAT(all, HasSubstr("FLOPs per token "));
  EXPECT_THAT(all, HasSubstr("estimated bytes of memory "));
  EXPECT_THAT(all, HasSubstr("exceed guardrails.max_memory_bytes = 10"));
}

class RouterCollapse : public ::testing::Test {
 protected:
  std::string refused(int experts, study::LayerHealth health, const char* router = "softmax",
                      double clamp = 0.25) const {
    Program program = small_program();
    Json& options = program.base["model"]["layers"]["E"];
    options["num_experts"] = experts;
    options["router"] = {{"kind", router}, {"sigmoid", {{"bias_clamp", clamp}}}};
    const study::RunConfig config = study::resolve_run_config(program.base, "base");
    study::EvaluationResult evaluation;
    health.position = 3;
    evaluation.router_health = {health};
    return text(refusals(AfterRun{program, config, evaluation}));
  }
};

TEST_F(RouterCollapse, AnEvenRouterPasses) {
  EXPECT_EQ(refused(8, {.load_entropy = 0.95, .load_cv = 0.3, .max_load = 0.2}), "");
}

TEST_F(RouterCollapse, TheBusiestExpertIsHeldAgainstTwiceItsShareWithFewExperts) {
  EXPECT_EQ(refused(16, {.load_entropy = 0.9, .load_cv = 0.3, .max_load = 0.25}),
            "router_collapse: layer 3: the busiest expert takes 0.25 of the tokens (limit 0.25)");
  EXPECT_EQ(refused(4, {.load_entropy = 0.9, .load_cv = 0.3, .max_load = 0.45}), "");
  EXPECT_THAT(refused(4, {.load_entropy = 0.9, .load_cv = 0.3, .max_load = 0.5}),
              HasSubstr("takes 0.5 of the tokens (limit 0.5)"));
}

TEST_F(RouterCollapse, TheDefaultsAreTheThresholdsOfTheFixedWallStudy) {
  const Guardrails limits;
  EXPECT_EQ(limits.max_expert_load, 0.25);
  EXPECT_EQ(limits.max_load_cv, 1.0);
  EXPECT_EQ(limits.min_load_entropy, 0.05);
  EXPECT_EQ(limits.max_bias_of_clamp, 1.0);
}

TEST_F(RouterCollapse, ABiasAtItsClampCountsAsCollapsed) {
  const study::LayerHealth even = {.load_entropy = 0.9, .load_cv = 0.3, .max_load = 0.2};
  study::LayerHealth clamped = even;
  clamped.bias_max = 0.25;
  EXPECT_EQ(refused(8, clamped, "sigmoid"),
            "router_collapse: layer 3: the largest bias 0.25 is 1 of its clamp 0.25 (limit 1)");
  clamped.bias_max = 0.249;
  EXPECT_EQ(refused(8, clamped, "sigmoid"), "");
  clamped.bias_max = std::nan("");
  EXPECT_THAT(refused(8, clamped, "sigmoid"), HasSubstr("the largest bias"));
  clamped.bias_max.reset();
  EXPECT_EQ(refused(8, clamped, "sigmoid"), "");
}

TEST_F(RouterCollapse, AClampThatSinglePrecisionRoundsDownIsReachedToo) {
  study::LayerHealth health = {.load_entropy = 0.9, .load_cv = 0.3, .max_load = 0.2};
  health.bias_max = static_cast<double>(0.7f);  // a little less than 0.7
  EXPECT_THAT(refused(8, health, "sigmoid", 0.7), HasSubstr("is 1 of its clamp 0.7"));
}

TEST_F(RouterCollapse, ScatterAndEntropyHaveLimitsOfTheirOwn) {
  EXPECT_EQ(refused(8, {.load_entropy = 0.9, .load_cv = 1.0, .max_load = 0.2}),
            "router_collapse: layer 3: load sd over mean 1 (limit 1)");
  EXPECT_EQ(refused(8, {.load_entropy = 0.05, .load_cv = 0.5, .max_load = 0.2}), "");
  EXPECT_EQ(refused(8, {.load_entropy = 0.049, .load_cv = 0.5, .max_load = 0.2}),
            "router_collapse: layer 3: load entropy 0.049 of 1 (least 0.05)");
}

TEST_F(RouterCollapse, AFigureThatIsNotFiniteCountsAsCollapsed) {
  EXPECT_THAT(refused(8, {.load_entropy = 0.9, .load_cv = 0.5, .max_load = std::nan("")}),
              StartsWith("router_collapse: "));
}

}  // namespace
}  // namespace windtunnel::agent
