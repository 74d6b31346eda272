// AdamW: Adam with decoupled weight decay.
//
//   m = b1 m + (1 - b1) g;  v = b2 v + (1 - b2) g^2
//   p = p - lr wd p - lr (m / (1 - b1^t)) / (sqrt(v / (1 - b2^t)) + eps)
//
// With the constant schedule of weight decay the middle term has the peak rate instead of lr.
//
// Source: Loshchilov and Hutter 2019, arXiv:1711.05101. LibTorch's fused kernel updates all
// parameters of the group in one call.
// Choose it for embeddings, head and scalars, and as the control arm for matrices.
// Cost: two values of state per parameter; a handful of FLOPs per parameter and step.

#include "base/error.h"
#include "trainer/optimizer.h"

namespace windtunnel::trainer {
namespace {

class AdamW final : public Optimizer {
 public:
  AdamW(const std::vector<model::Parameter>& parameters, const study::OptimizerConfig& config)
      : config_(config) {
    for (const auto& parameter : parameters) {
      names_.push_back(parameter.name);
      parameters_.push_back(parameter.tensor);
      first_moments_.push_back(at::zeros_like(parameter.tensor).detach());
      second_moments_.push_back(at::zeros_like(parameter.tensor).detach());
    }
    steps_done_ = at::zeros({}, parameters_.front().options().dtype(at::kFloat));
  }

  void step(double learning_rate) override {
    std::vector<torch::Tensor> gradients;
    for (const auto& parameter : parameters_) gradients.push_back(parameter.grad());
    steps_done_ += 1;
    const std::vector<torch::Tensor> steps(parameters_.size(), steps_done_);
    double weight_decay = config_.weight_decay;
    if (config_.weight_decay_schedule == "constant") {
      if (weight_decay > 0) {
        at::_foreach_mul_(parameters_, 1 - config_.learning_rate * weight_decay);
      }
      weight_decay = 0;
    }
    at::_fused_adamw_(parameters_, gradients, first_moments_, second_moments_,
                      /*max_exp_avg_sqs=*/{}, steps, learning_rate, config_.adam_beta1,
                      config_.adam_beta2, weight_decay, config_.adam_epsilon,
                      /*amsgrad=*/false, /*maximize=*/false);
  }

  NamedTensors state() const override {
    NamedTensors state{{"adamw.steps", steps_done_}};
    for (size_t i = 0; i < names_.size(); ++i) {
      state.emplace_back(names_[i] + ".first_moment", first_moments_[i]);
      state.emplace_back(names_[i] + ".second_moment", second_moments_[i]);
    }
    return state;
  }

 private:
  study::OptimizerConfig config_;
  std::vector<std::string> names_;
  std::vector<torch::Tensor> parameters_;
  std::vector<torch::Tensor> first_moments_;
  std::vector<torch::Tensor> second_moments_;
  torch::Tensor steps_done_;
};

const base::Registration<OptimizerKind> registration{
    {.name = "adamw",
     .summary = "Adam with decoupled weight decay",
     .source = "Loshchilov and Hutter 2019, arXiv:1711.05101",
     .entry = {.make = [](const std::vector<model::Parameter>& parameters,
                          const study::OptimizerConfig& config) -> std::unique_ptr<Optimizer> {
       return std::make_unique<AdamW>(parameters, config);
     }}}};

}  // namespace
}  // namespace windtunnel::trainer
