// A training step asks the device for nothing: it runs on tensors that have shapes but no values,
// where whatever would have to be read on the host (a scalar, a count, a shape that depends on
// data) is an error. So a GPU is never waited for within a step, and a step can be captured.

#include <gtest/gtest.h>

#include "study/run_config.h"
#include "tests/trainer/objective_setting.h"
#include "trainer/training_step.h"

namespace windtunnel::trainer {
namespace {

using base::Json;

struct StepCase {
  const char* name;
  const char* precision;
  Json router;
  Json attention;
  const char* muon_experts;
};

void PrintTo(const StepCase& step, std::ostream* out) { *out << step.name; }

study::RunConfig config_of(const StepCase& step) {
  study::RunConfig config;
  config.model.pattern = "*D*E*E";
  config.model.width = 64;
  config.model.context_tokens = 32;
  config.model.layers = {
      {"*", step.attention},
      {"E", {{"num_experts", 8}, {"num_active", 2}, {"hidden", 64}, {"router", step.router}}}};
  config.model = model::resolve(config.model, tests::byte_tokenizer().vocabulary_size());
  config.train.tokens_per_step = 4 * 32;
  config.train.micro_batch_rows = 2;
  config.train.optimizer.muon_experts = step.muon_experts;
  return study::resolve_run_config(base::to_json(config), step.name);
}

class NoHostWait : public testing::TestWithParam<StepCase> {};

TEST_P(NoHostWait, AStepReadsNoValueOfTheDevice) {
  const study::RunConfig config = config_of(GetParam());
  model::LanguageModel model(config.model, base::RandomStream(1, "weights"));
  model.to(torch::Device(torch::kMeta));
  Objectives objectives;
  const auto optimizers =
      make_optimizers(trained_parameters(model, objectives), config.train.optimizer);
  const StepOptions options{.device = torch::Device(torch::kMeta),
                            .precision = GetParam().precision,
                            .micro_batch_rows = config.train.micro_batch_rows,
                            .gradient_clip_norm = 1};
  const StepResult step =
      training_step(model, objectives, optimizers, tests::objective_batch(4, 32),
                    {.learning_rate = 0.01, .progress = 0.5}, options);
  EXPECT_TRUE(step.loss_nats_per_token.is_meta());
  EXPECT_TRUE(step.gradient_norm.is_meta());
  for (const auto& parameter : model.parameters_with_roles()) {
    EXPECT_TRUE(parameter.tensor.grad().defined()) << parameter.name;
    EXPECT_TRUE(parameter.tensor.grad().is_meta()) << parameter.name;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Steps, NoHostWait,
    testing::Values(StepCase{"plain_float32", "float32", {{"kind", "softmax"}}, {}, "stacked"},
                    StepCase{"plain_bfloat16", "bfloat16", {{"kind", "softmax"}}, {}, "separate"},
                    StepCase{"recipe_float32",
                             "float32",
                             {{"kind", "sigmoid"}},
                             {{"windows", "SSSL"},
                              {"value_mix", {{"kind", "fixed"}}},
                              {"exclusive", true},
                              {"gate", {{"kind", "sigmoid"}}}},
                             "stacked"},
                    StepCase{"recipe_bfloat16",
                             "bfloat16",
                             {{"kind", "sigmoid"}},
                             {{"windows", "SSSL"},
                              {"value_mix", {{"kind", "fixed"}}},
                              {"exclusive", true},
                              {"gate", {{"kind", "sigmoid"}}}},
                             "separate"}),
    [](const auto& entry) { return std::string(entry.param.name); });

}  // namespace
}  // namespace windtunnel::trainer
