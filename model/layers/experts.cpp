// x + sum over the K chosen experts of weight * down_e(silu(gate_e h) * up_e h), h = rms_norm(x).
//
// B rows, T tokens, D width, H hidden units of one expert, E experts, N = B T.
// Source: Shazeer et al. 2017, arXiv:1701.06538; no capacity limit, no token dropped. The router's
// product is in fp32 whatever the type of the residual: near-ties decide which experts are visited.

#include "model/kinds/experts.h"

#include "kernels/expert_feed_forward.h"
#include "kernels/linear.h"
#include "kernels/rms_norm.h"
#include "model/depth_scaling.h"
#include "model/layer.h"
#include "model/layer_kind.h"
#include "model/router.h"

namespace windtunnel::model {
namespace {

class Experts : public Layer {
 public:
  Experts(const ModelConfig& model, const LayerPlace& place, const WeightSource& weights)
      : position_(place.position), scales_(depth_scales(model.depth_scaling, place.ordinal + 1)) {
    const auto options = layer_options<ExpertsOptions>(model, 'E');
    num_active_ = options.num_active;
    const int64_t width = model.width, experts = options.num_experts;
    const int64_t hidden = expert_hidden(options, model);
    router_matrix_ED_ = add_parameter("router", ParameterRole::kRouter,
                                      weights.draw("router", {experts, width}, width));
    const auto matrices = [&](const char* name, int64_t outputs, int64_t inputs) {
      return add_parameter(name, ParameterRole::kExpertMatrices,
                           weights.draw(name, {experts, outputs, inputs}, inputs));
    };
    gate_EHD_ = matrices("gate", hidden, width);
    up_EHD_ = matrices("up", hidden, width);
    down_EDH_ = matrices("down", width, hidden);
    const std::string kind = options.router.at("kind");
    router_ = RouterFactories::instance().get(kind, "router").entry.make(options.router, experts);
    register_module("routing", router_);
    load_since_reset_E_ = register_buffer("load_since_reset", torch::zeros({experts}));
    load_since_step_E_ = register_buffer("load_since_step", torch::zeros({experts}));
    sums_since_reset_2_ = register_buffer("sums_since_reset", torch::zeros({2}, torch::kDouble));
  }

  torch::Tensor forward(const torch::Tensor& residual_BTD, ForwardPass& pass) override {
    const auto x_ND = scaled(kernels::rms_norm(residual_BTD), scales_.feed_forward).flatten(0, 1);
    const auto wide = x_ND.scalar_type() == torch::kDouble ? torch::kDouble : torch::kFloat32;
    const auto logits_NE = kernels::linear(x_ND.to(wide), {router_matrix_ED_});
    const Routing routing = router_->route(logits_NE, num_active_);
    load_since_reset_E_.add_(routing.load_E);
    sums_since_reset_2_.add_(routing.sums_2);
    if (is_training()) {
      load_since_step_E_.add_(routing.load_E);
      pass.auxiliary_losses.push_back(routing.auxiliary_loss);
    }
    const auto y_ND = kernels::expert_feed_forward(
        residual_BTD.flatten(0, 1), x_ND, {gate_EHD_, up_EHD_, down_EDH_}, routing.experts_NK,
        scaled(routing.weights_NK, scales_.output));
    return y_ND.view_as(residual_BTD);
  }

  std::vector<std::pair<std::string, torch::Tensor>> state_buffers() const override {
    return router_->state_buffers();
  }

  void after_optimizer_step() override {
    // A step in which no token came by (it cannot be told without waiting for the device) has a
    // share of 0 / tiny = 0 for all; the trainer never makes one.
    router_->after_optimizer_step(load_since_step_E_ / load_since_step_E_.sum().clamp_min(1));
    load_since_step_E_.zero_();
  }

  std::optional<RouterHealth> router_health() const override {
    const auto load_E = load_since_reset_E_.to(torch::kCPU, torch::kDouble);
    auto health = health_of_load(load_E);
    if (!health) return health;
    const auto sums_2 = sums_since_reset_2_.to(torch::kCPU);
    const double tokens = load_E.sum().item<double>() / static_cast<double>(num_active_);
    health->position = position_;
    health->z_loss = sums_2[0].item<double>() / tokens;
    router_->complete(*health,
                      sums_2[1].item<double>() / (tokens * static_cast<double>(load_E.size(0))));
    return health;
  }

  void reset_router_health() override {
    load_since_reset_E_.zero_();
    sums_since_reset_2_.zero_();
  }

  std::vector<std::pair<std::string, torch::Tensor>> health_counters() const override {
    return {{"load_since_reset", load_since_reset_E_}, {"sums_since_reset", sums_since_reset_2_}};
  }

 private:
  int position_;
  DepthScales scales_;
  int64_t num_active_ = 0;
  torch::Tensor router_matrix_ED_, gate_EHD_, up_EHD_, down_EDH_;
  std::shared_ptr<Router> router_;
  /// Assignments per expert.
  torch::Tensor load_since_reset_E_, load_since_step_E_;
  /// As Routing::sums_2.
  torch::Tensor sums_since_reset_2_;
};

const base::Registration<LayerFactory> registration{{
    .name = "experts",
    .summary = "see the layer kind",
    .entry = {.make = [](const ModelConfig& model, const LayerPlace& place,
                         const WeightSource& weights) -> std::shared_ptr<Layer> {
      return std::make_shared<Experts>(model, place, weights);
    }},
}};

}  // namespace
}  // namespace windtunnel::model
