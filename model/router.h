#pragma once
// The contract of the computing half of a router kind: one file in model/routers/ that registers a
// RouterFactory under the name its RouterKind has (router_kind.h). Everything is fp32 or wider.

#include <torch/nn/module.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/registry.h"
#include "model/language_model.h"

namespace windtunnel::model {

// N tokens, E experts, K visited ones.
struct Routing {
  /// int64, K different experts per token.
  torch::Tensor experts_NK;
  /// Sum to one over K; differentiable.
  torch::Tensor weights_NK;
  /// Tokens each expert got, fp32; N K in all.
  torch::Tensor load_E;
  /// Weighted losses of the router; undefined outside training.
  torch::Tensor auxiliary_loss;
  /// Sums over the tokens, in double; see kernels/top_k_routing.h.
  torch::Tensor sums_2;
};

class Router : public torch::nn::Module {
 public:
  virtual Routing route(const torch::Tensor& logits_NE, int64_t num_active) = 0;

  /// What is saved besides parameters.
  virtual std::vector<std::pair<std::string, torch::Tensor>> state_buffers() const { return {}; }
  /// `share_E`: the share of the step's assignments each expert got. Called without gradients.
  virtual void after_optimizer_step(const torch::Tensor& /*share_E*/) {}

  /// Adds the figures that only this kind has; `saturated_share` is that of sums_2[1]. May wait for
  /// the device.
  virtual void complete(RouterHealth& /*health*/, double /*saturated_share*/) const {}
};

struct RouterFactory {
  /// `router` is a completed choice, see complete_router.
  std::shared_ptr<Router> (*make)(const base::Json& router, int64_t num_experts);
};

using RouterFactories = base::Registry<RouterFactory>;

/// Figures of one layer from the counts of its experts; nothing if all are zero.
std::optional<RouterHealth> health_of_load(const torch::Tensor& load_E);

}  // namespace windtunnel::model
