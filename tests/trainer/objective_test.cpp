// What every objective promises, and what they promise together.

#include "trainer/objective.h"

#include <gtest/gtest.h>

#include "evaluation/bits_per_byte.h"
#include "kernels/cross_entropy.h"
#include "tests/evaluation/small_model.h"
#include "tests/trainer/objective_setting.h"
#include "trainer/training_step.h"

namespace windtunnel::trainer {
namespace {

using tests::objective_batch;
using tests::objective_config;
using tests::objective_settings;
using tests::Training;
using torch::Tensor;

/// Without clipping and without an update, so that the gradients stay as they are.
StepOptions only_gradients(int64_t micro_batch_rows = 0) {
  return {.device = torch::Device(at::kCPU),
          .precision = "float32",
          .micro_batch_rows = micro_batch_rows,
          .gradient_clip_norm = 1e30};
}

/// Gradients of one step by the parameters' names.
std::map<std::string, Tensor> gradients(Training& training, double progress = 0.6,
                                        int64_t micro_batch_rows = 0) {
  training_step(training.model, training.objectives, {}, objective_batch(),
                {.learning_rate = 0, .progress = progress}, only_gradients(micro_batch_rows));
  std::map<std::string, Tensor> all;
  for (const auto& parameter : trained_parameters(training.model, training.objectives)) {
    EXPECT_TRUE(parameter.tensor.grad().defined()) << parameter.name;
    all[parameter.name] = parameter.tensor.grad().clone();
  }
  return all;
}

double largest_difference(const Tensor& a, const Tensor& b) {
  return (a - b).abs().max().item<double>();
}

/// Mean cross-entropy of the batch, cut into rows of `length`, by the definition.
Tensor plain_loss(model::LanguageModel& model, int64_t length) {
  const Tensor tokens =
      tests::tokens_of(objective_batch()).unfold(1, length + 1, length).flatten(0, 1);
  const auto output = model.forward(tokens.narrow(1, 0, length).contiguous());
  return kernels::cross_entropy(output.logits_BTV, tokens.narrow(1, 1, length)).mean();
}

class EveryObjective : public testing::TestWithParam<std::string> {};

TEST_P(EveryObjective, IsOffByDefaultAndOnAtItsTestSetting) {
  const auto& kind = study::ObjectiveKinds::instance().get(GetParam(), "objective");
  EXPECT_FALSE(kind.entry.is_on({}));
  ASSERT_TRUE(objective_settings().contains(GetParam())) << "add a setting to objective_setting.h";
  EXPECT_TRUE(kind.entry.is_on(objective_config({GetParam()}).train.objectives));
}

TEST_P(EveryObjective, ForcedAtItsNeutralSettingItChangesNothing) {
  Training training(objective_config({}));
  const auto objective =
      ObjectiveFactories::instance().get(GetParam(), "objective").entry.make(training.setting());
  const Tensor tokens = tests::tokens_of(objective_batch());
  StepBatch step{.tokens_BT = tokens.narrow(1, 0, 12), .targets_BT = tokens.narrow(1, 1, 12)};
  step.nats_BT = torch::rand({4, 12}, at::kDouble);
  EXPECT_EQ(objective->row_tokens(0, 12), 12);
  const Tensor weights_BT = objective->token_weights_BT(step);
  if (weights_BT.defined()) {
    EXPECT_TRUE(weights_BT.equal(torch::ones_like(step.nats_BT)));
  }
  const auto output = training.model.forward(step.tokens_BT.contiguous());
  const Tensor extra = objective->extra_loss({.tokens_BT = step.tokens_BT,
                                              .targets_BT = step.targets_BT,
                                              .hidden_BTD = output.hidden_BTD,
                                              .logits_BTV = output.logits_BTV,
                                              .step = step});
  if (extra.defined()) {
    EXPECT_EQ(extra.item<double>(), 0);
  }
  const Tensor head = training.model.head_VD().detach().clone();
  objective->after_optimizer_step();
  EXPECT_TRUE(training.model.head_VD().equal(head));
}

TEST_P(EveryObjective, ChangesTheGradientsAndReportsPlainCrossEntropy) {
  Training plain(objective_config({})), training(objective_config({GetParam()}));
  const auto step = training_step(training.model, training.objectives, {}, objective_batch(),
                                  {.learning_rate = 0, .progress = 0.2}, only_gradients());
  const int64_t length = study::row_tokens_at(training.config, 0.2);
  EXPECT_NEAR(step.loss_nats_per_token.item<double>(),
              plain_loss(training.model, length).item<double>(), 1e-5);
  const auto with = gradients(training, 0.2), without = gradients(plain, 0.2);
  double change = 0;
  for (const auto& [name, gradient] : without) {
    EXPECT_TRUE(with.at(name).isfinite().all().item<bool>()) << name;
    change = std::max(change, largest_difference(gradient, with.at(name)));
  }
  EXPECT_GT(change, 1e-4);
}

TEST_P(EveryObjective, MicroBatchesGiveTheGradientsOfTheWholeStep) {
  Training training(objective_config({GetParam()}));
  const auto whole = gradients(training, 0.2), parts = gradients(training, 0.2, 1);
  for (const auto& [name, gradient] : whole) {
    EXPECT_LT(largest_difference(gradient, parts.at(name)), 1e-12) << name;
  }
}

TEST_P(EveryObjective, LeavesEvaluationAlone) {
  study::RunConfig config = objective_config({GetParam()});
  Training training(config, at::kFloat);
  const auto optimizers =
      make_optimizers(trained_parameters(training.model, training.objectives), {});
  for (int i = 0; i < 3; ++i) {
    training_step(training.model, training.objectives, optimizers, objective_batch(),
                  {.learning_rate = 0.02, .progress = 0.2}, only_gradients());
  }
  model::LanguageModel copy(objective_config({}).model, base::RandomStream(9, "weights"));
  const NamedTensors trained = weights_of(training.model), copied = weights_of(copy);
  ASSERT_EQ(trained.size(), copied.size());
  const torch::NoGradGuard no_grad;
  for (size_t i = 0; i < trained.size(); ++i) {
    EXPECT_EQ(trained[i].first, copied[i].first);
    torch::Tensor(copied[i].second).copy_(trained[i].second);
  }
  training.model.eval();
  copy.eval();
  const auto text = tests::scored({"at 7:15 the wind was 42 knots", "the tunnel is 120 m long"});
  EXPECT_EQ(evaluation::evaluate(training.model, text, 2).bits_per_byte,
            evaluation::evaluate(copy, text, 2).bits_per_byte);
}

TEST_P(EveryObjective, CostsAreThoseOfItsWeights) {
  const Training training(objective_config({GetParam()}));
  int64_t count = 0;
  for (const auto& parameter : training.objectives.parameters()) {
    EXPECT_TRUE(parameter.name.starts_with("objectives." + GetParam() + "."));
    count += parameter.tensor.numel();
  }
  EXPECT_EQ(study::objectives_cost(training.config).parameters_total(), count);
}

INSTANTIATE_TEST_SUITE_P(Kinds, EveryObjective,
                         testing::ValuesIn(ObjectiveFactories::instance().names()),
                         [](const auto& kind) { return kind.param; });

/// A step as it is defined without any objective, on a model with experts in fp32.
void expect_the_plain_step(int64_t micro_batch_rows) {
  study::RunConfig config = objective_config({});
  config.model.pattern = "*E";
  config.model = model::resolve(config.model);
  Training training(config, at::kFloat);
  ASSERT_TRUE(training.objectives.empty());
  const auto step = training_step(training.model, training.objectives, {}, objective_batch(), {},
                                  only_gradients(micro_batch_rows));

  model::LanguageModel model(config.model, base::RandomStream(1, "weights"));
  const Tensor tokens = tests::tokens_of(objective_batch());
  const int64_t rows = micro_batch_rows > 0 ? micro_batch_rows : 4;
  Tensor loss = torch::zeros({});
  for (int64_t row = 0; row < 4; row += rows) {
    const Tensor part = tokens.narrow(0, row, rows);
    const auto output = model.forward(part.narrow(1, 0, 12).contiguous());
    const Tensor mean =
        kernels::cross_entropy(output.logits_BTV.flatten(0, 1), part.narrow(1, 1, 12).reshape({-1}))
            .mean();
    Tensor objective = mean + output.auxiliary_loss;
    if (rows < 4) objective = objective * (static_cast<double>(rows) / 4);
    objective.backward();
    loss += mean.detach() * (static_cast<double>(rows) / 4);
  }
  EXPECT_TRUE(step.loss_nats_per_token.equal(loss));
  const auto expected = model.parameters(), actual = training.model.parameters();
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_TRUE(expected[i].grad().equal(actual[i].grad())) << i;
  }
}

TEST(Objectives, AllNeutralAStepIsPlainCrossEntropyBitForBit) {
  expect_the_plain_step(0);
  expect_the_plain_step(2);
}

TEST(Objectives, WeightsMultiply) {
  Training both(objective_config({"byte_weights", "row_weights"}));
  const auto composed = gradients(both);

  Training plain(objective_config({}));
  const Tensor tokens = tests::tokens_of(objective_batch());
  const Tensor targets_BT = tokens.narrow(1, 1, 12);
  const auto output = plain.model.forward(tokens.narrow(1, 0, 12).contiguous());
  const Tensor nats_BT = kernels::cross_entropy(output.logits_BTV, targets_BT);
  const Tensor is_text_BT = targets_BT.lt(256).to(at::kDouble);
  const Tensor row_B1 = nats_BT.detach().mean(1, true).mul(3).exp();
  const Tensor weights_BT = is_text_BT * row_B1;
  ((nats_BT * weights_BT).sum() / weights_BT.sum()).backward();
  for (const auto& parameter : plain.model.parameters_with_roles()) {
    EXPECT_LT(largest_difference(parameter.tensor.grad(), composed.at(parameter.name)), 1e-12)
        << parameter.name;
  }
}

TEST(Objectives, ExtraLossesAddUp) {
  Training none(objective_config({})), order(objective_config({"token_order"})),
      heads(objective_config({"multi_token"})),
      both(objective_config({"token_order", "multi_token"}));
  const auto plain = gradients(none), first = gradients(order), second = gradients(heads),
             together = gradients(both);
  for (const auto& [name, gradient] : plain) {
    const Tensor sum = first.at(name) + second.at(name) - gradient;
    EXPECT_LT(largest_difference(sum, together.at(name)), 1e-12) << name;
  }
  for (const auto& [name, gradient] : first) {
    EXPECT_LT(largest_difference(gradient, together.at(name)), plain.contains(name) ? 1e9 : 1e-12)
        << name;
  }
}

TEST(Objectives, AllAtOnceMicroBatchesGiveTheGradientsOfTheWholeStep) {
  study::RunConfig config = objective_config(ObjectiveFactories::instance().names());
  // The first rows have three tokens, as many as the objectives above look ahead.
  Training training(config);
  const auto whole = gradients(training, 0.5), parts = gradients(training, 0.5, 2);
  for (const auto& [name, gradient] : whole) {
    EXPECT_LT(largest_difference(gradient, parts.at(name)), 1e-12) << name;
  }
}

TEST(Objectives, AStepWhoseTokensAllWeighNothingHasNoGradient) {
  Training training(objective_config({"byte_weights"}));
  corpus::Batch batch = objective_batch();
  for (int64_t& token : batch.tokens) token = 256;  // begin-of-document
  training_step(training.model, training.objectives, {}, batch, {}, only_gradients());
  EXPECT_EQ(training.model.head_VD().grad().abs().max().item<double>(), 0);
}

TEST(Objectives, OptimizersGoByTheRolesOfTheirWeights) {
  Training training(objective_config({"multi_token", "token_order"}), at::kFloat);
  const auto optimizers =
      make_optimizers(trained_parameters(training.model, training.objectives), {});
  std::string names;
  for (const auto& [name, tensor] : state_of(optimizers)) names += name + "\n";
  EXPECT_NE(names.find("0.objectives.token_order.head.first_moment"), std::string::npos) << names;
  EXPECT_NE(names.find("1.objectives.multi_token.block2.momentum"), std::string::npos) << names;
}

}  // namespace
}  // namespace windtunnel::trainer
