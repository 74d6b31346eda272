#include "trainer/batch_gradients.h"

#include "kernels/cross_entropy.h"

namespace windtunnel::trainer {

using torch::Tensor;

BatchGradients batch_gradients(model::LanguageModel& model, const Tensor& tokens_BU) {
  const std::vector<model::Parameter> parameters = model.parameters_with_roles();
  for (const auto& parameter : parameters) Tensor(parameter.tensor).mutable_grad().reset();
  model.train();
  const int64_t context = tokens_BU.size(1) - 1;
  const Tensor tokens = tokens_BU.to(parameters.front().tensor.device());
  const Tensor targets = tokens.narrow(1, 1, context).reshape({-1});
  const model::ModelOutput output = model.forward(tokens.narrow(1, 0, context).contiguous());
  const Tensor loss = kernels::cross_entropy(output.logits_BTV.flatten(0, 1), targets).mean();
  const Tensor& auxiliary = output.auxiliary_loss;
  (auxiliary.defined() ? loss + auxiliary : loss).backward();

  BatchGradients result;
  result.loss_nats_per_token = loss.item<double>();
  if (auxiliary.defined()) result.auxiliary_loss = auxiliary.item<double>();
  Tensor squares = at::zeros({}, at::kDouble);
  for (const auto& parameter : parameters) {
    // A parameter that took no part has no gradient, which is a gradient of zero.
    const Tensor& gradient = parameter.tensor.grad();
    result.gradients.emplace_back(parameter.name, gradient.defined()
                                                      ? gradient.detach().cpu()
                                                      : at::zeros_like(parameter.tensor).cpu());
    squares += result.gradients.back().second.to(at::kDouble).square().sum();
  }
  result.gradient_norm = squares.sqrt().item<double>();
  return result;
}

}  // namespace windtunnel::trainer
