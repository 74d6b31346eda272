#include "trainer/batch_gradients.h"

#include <gtest/gtest.h>

#include "kernels/cross_entropy.h"
#include "trainer/training_step.h"

namespace windtunnel::trainer {
namespace {

using torch::Tensor;

model::ModelConfig small_model() {
  return model::resolve({.pattern = "*D*E",
                         .width = 16,
                         .context_tokens = 12,
                         .layers = {{"E", {{"router", {{"kind", "sigmoid"}}}}}}},
                        29);
}

/// Rows of one id more than the context.
Tensor some_tokens() { return (torch::arange(3 * 13) * 11 % 29).view({3, 13}); }

double objective(model::LanguageModel& model, const Tensor& tokens) {
  const torch::NoGradGuard no_grad;
  model.train();
  const auto output = model.forward(tokens.narrow(1, 0, 12));
  const auto nats = kernels::cross_entropy(output.logits_BTV, tokens.narrow(1, 1, 12));
  return (nats.mean() + output.auxiliary_loss).item<double>();
}

TEST(BatchGradients, AreThoseOfFiniteDifferencesInDouble) {
  model::LanguageModel model(small_model(), base::RandomStream(3, "weights"));
  model.to(torch::kDouble);
  const Tensor tokens = some_tokens();
  const BatchGradients result = batch_gradients(model, tokens);
  EXPECT_NEAR(result.loss_nats_per_token + result.auxiliary_loss, objective(model, tokens), 1e-12);
  const auto parameters = model.parameters_with_roles();
  ASSERT_EQ(parameters.size(), result.gradients.size());
  constexpr double kStep = 1e-5;
  for (size_t i = 0; i < parameters.size(); ++i) {
    EXPECT_EQ(parameters[i].name, result.gradients[i].first);
    const Tensor values = parameters[i].tensor.detach().view({-1});
    const Tensor gradient = result.gradients[i].second.view({-1});
    // The largest entry and two more.
    for (const int64_t at :
         {gradient.abs().argmax().item<int64_t>(), values.numel() / 2, values.numel() - 1}) {
      const double value = values[at].item<double>();
      values[at] = value + kStep;
      const double above = objective(model, tokens);
      values[at] = value - kStep;
      const double below = objective(model, tokens);
      values[at] = value;
      EXPECT_NEAR(gradient[at].item<double>(), (above - below) / (2 * kStep), 1e-8)
          << parameters[i].name << " " << at;
    }
  }
}

TEST(BatchGradients, AreThoseTheTrainerClips) {
  model::LanguageModel one(small_model(), base::RandomStream(3, "weights"));
  model::LanguageModel two(small_model(), base::RandomStream(3, "weights"));
  const Tensor tokens = some_tokens();
  const BatchGradients result = batch_gradients(one, tokens);
  corpus::Batch batch;
  batch.rows = 3;
  batch.columns = 13;
  const int64_t* ids = tokens.const_data_ptr<int64_t>();
  batch.tokens.assign(ids, ids + tokens.numel());
  Objectives none;
  const StepResult step = training_step(two, none, {}, batch, {.learning_rate = 0.01},
                                        {.device = at::kCPU, .precision = "float32"});
  EXPECT_NEAR(step.loss_nats_per_token.item<double>(), result.loss_nats_per_token, 1e-6);
  EXPECT_NEAR(step.gradient_norms.global.item<double>(), result.gradient_norm,
              1e-5 * result.gradient_norm);
}

TEST(BatchGradients, LeaveWeightsAndStateAsTheyWere) {
  model::LanguageModel model(small_model(), base::RandomStream(3, "weights"));
  NamedTensors before;
  for (const auto& [name, tensor] : weights_of(model)) before.emplace_back(name, tensor.clone());
  const BatchGradients first = batch_gradients(model, some_tokens());
  const BatchGradients second = batch_gradients(model, some_tokens());
  const NamedTensors after = weights_of(model);
  for (size_t i = 0; i < after.size(); ++i) {
    EXPECT_TRUE(torch::equal(before[i].second, after[i].second)) << after[i].first;
  }
  // Nothing adds up from one call to the next.
  EXPECT_EQ(first.gradient_norm, second.gradient_norm);
}

TEST(BatchGradients, WithoutRoutersThereIsNoAuxiliaryLoss) {
  const auto config = model::resolve({.pattern = "*D", .width = 16, .context_tokens = 12}, 29);
  model::LanguageModel model(config, base::RandomStream(3, "weights"));
  EXPECT_EQ(batch_gradients(model, some_tokens()).auxiliary_loss, 0);
}

}  // namespace
}  // namespace windtunnel::trainer
