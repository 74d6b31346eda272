#include "trainer/training_step.h"

#include <algorithm>

#include "kernels/cross_entropy.h"

namespace windtunnel::trainer {
namespace {

using torch::Tensor;

/// Adds the gradients of `share` times the mean loss of some rows; returns that mean, times share.
Tensor accumulate_gradients(model::LanguageModel& model, const Tensor& tokens, double share) {
  const int64_t context = tokens.size(1) - 1;
  const Tensor inputs = tokens.narrow(1, 0, context).contiguous();
  const Tensor targets = tokens.narrow(1, 1, context).reshape({-1});
  const model::ModelOutput output = model.forward(inputs);
  const Tensor loss = kernels::cross_entropy(output.logits_BTV.flatten(0, 1), targets).mean();
  Tensor objective = loss;
  if (output.auxiliary_loss.defined()) objective = objective + output.auxiliary_loss;
  if (share != 1) objective = objective * share;
  objective.backward();
  return loss.detach() * share;
}

}  // namespace

StepResult training_step(model::LanguageModel& model,
                         const std::vector<std::unique_ptr<Optimizer>>& optimizers,
                         const corpus::Batch& batch, double learning_rate,
                         const StepOptions& options) {
  std::vector<Tensor> parameters = model.parameters();
  for (Tensor& parameter : parameters) parameter.mutable_grad().reset();

  const Tensor tokens = at::from_blob(const_cast<int64_t*>(batch.tokens.data()),
                                      {batch.rows, batch.columns}, at::kLong)
                            .to(options.device);
  model.set_compute_type(options.precision == "bfloat16" ? at::kBFloat16 : at::kFloat);
  const int64_t rows = options.micro_batch_rows > 0 ? options.micro_batch_rows : batch.rows;
  Tensor loss = at::zeros({}, at::TensorOptions(options.device));
  for (int64_t row = 0; row < batch.rows; row += rows) {
    const Tensor part = tokens.narrow(0, row, std::min(rows, batch.rows - row));
    const double share = static_cast<double>(part.size(0)) / static_cast<double>(batch.rows);
    loss += accumulate_gradients(model, part, share);
  }

  const at::NoGradGuard no_grad;
  std::vector<Tensor> gradients;
  for (const Tensor& parameter : parameters) gradients.push_back(parameter.grad());
  const Tensor norm = clip_gradients(gradients, options.gradient_clip_norm);
  for (const auto& optimizer : optimizers) optimizer->step(learning_rate);
  model.after_optimizer_step();
  return {.loss_nats_per_token = loss, .gradient_norm = norm};
}

NamedTensors weights_of(const model::LanguageModel& model) {
  NamedTensors weights;
  for (auto& parameter : model.parameters_with_roles()) {
    weights.emplace_back(parameter.name, parameter.tensor);
  }
  for (auto& [name, tensor] : model.state_buffers()) weights.emplace_back(name, tensor);
  return weights;
}

}  // namespace windtunnel::trainer
