// a = sigmoid(z); the K largest a + b are selected; weights = a over the sum of the selected a.
// After each step, with u = 1/E and m an exponential average of the experts' shares of load,
//   b <- clamp(center(b + step (u - m) / u), +-clamp).
//
// Experts do not compete through a common denominator, and the bias b balances them without a
// gradient: it selects only and never enters the weights. Source: Wang et al. 2024,
// arXiv:2408.15664; differs: the error is averaged over steps and proportional, not its sign, and a
// small load-balance loss on a / sum(a) is kept, because a bias alone let a layer collapse.

#include "model/router_kinds/sigmoid.h"

#include "kernels/top_k_routing.h"
#include "model/router.h"
#include "model/router_kind.h"

namespace windtunnel::model {
namespace {

class SigmoidRouter : public Router {
 public:
  SigmoidRouter(const SigmoidRouterOptions& options, int64_t num_experts) : options_(options) {
    bias_E_ = register_buffer("bias", torch::zeros({num_experts}));
    // Starts even, so that the first steps do not push at all experts that wait for their turn.
    average_share_E_ =
        register_buffer("average_share", torch::full({num_experts}, 1.0 / double(num_experts)));
  }

  Routing route(const torch::Tensor& logits_NE, int64_t num_active) override {
    const auto losses = kernels::RoutingLosses{options_.load_balance, options_.z_loss};
    auto top =
        kernels::top_k_routing(logits_NE, bias_E_, num_active, kernels::RoutingScores::kSigmoid,
                               is_training() ? std::optional(losses) : std::nullopt);
    return {top.experts_NK, top.weights_NK, top.load_E, top.loss, top.sums_2};
  }

  std::vector<std::pair<std::string, torch::Tensor>> state_buffers() const override {
    return {{"bias", bias_E_}, {"average_share", average_share_E_}};
  }

  void after_optimizer_step(const torch::Tensor& share_E) override {
    const double even = 1.0 / static_cast<double>(bias_E_.size(0));
    average_share_E_.lerp_(share_E.to(average_share_E_.scalar_type()), 1 - options_.bias_ema);
    bias_E_.add_((even - average_share_E_) / even, options_.bias_step);
    bias_E_.sub_(bias_E_.mean()).clamp_(-options_.bias_clamp, options_.bias_clamp);
  }

  void complete(RouterHealth& health, double saturated_share) const override {
    health.saturation = saturated_share;
    if (options_.bias_step == 0) return;  // it has no bias
    const auto size_E = bias_E_.abs().to(torch::kCPU);
    health.bias_mean = size_E.mean().item<double>();
    health.bias_max = size_E.max().item<double>();
    // The clamp as the bias has it, in single precision; a NaN counts as there.
    health.bias_at_clamp = !(*health.bias_max < static_cast<double>(float(options_.bias_clamp)));
  }

 private:
  SigmoidRouterOptions options_;
  torch::Tensor bias_E_, average_share_E_;
};

const base::Registration<RouterFactory> registration{{
    .name = "sigmoid",
    .summary = "see the router kind",
    .entry = {.make = [](const base::Json& router, int64_t num_experts) -> std::shared_ptr<Router> {
      return std::make_shared<SigmoidRouter>(router_options<SigmoidRouterOptions>(router),
                                             num_experts);
    }},
}};

}  // namespace
}  // namespace windtunnel::model
