#pragma once
// The language model: embedding, the layers of the pattern, norm, untied head.

#include <torch/nn/module.h>
#include <torch/types.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "model/model_config.h"
#include "model/parameter_role.h"

namespace windtunnel::model {

struct Parameter {
  /// Stable, e.g. "layers.3.experts.up": the name in checkpoints.
  std::string name;
  torch::Tensor tensor;
  ParameterRole role;
};

/// A figure of a layer besides its router's health; see Layer::figures.
struct LayerFigure {
  int position = 0;
  std::string name;
  torch::Tensor value;
};

/// How one layer's router spreads tokens, measured over a batch or a whole evaluation.
struct RouterHealth {
  int position = 0;
  /// Entropy of the expert load over log E, in [0, 1]; 1 is even.
  double load_entropy = 0;
  /// Standard deviation over mean of the load.
  double load_cv = 0;
  /// Share of the busiest expert; 1/E is even.
  double max_load = 0;
  /// Mean squared log-sum-exp of the logits, before its weight.
  double z_loss = 0;
  /// Of the selection biases as they are, for a router that has them: mean and largest size, and
  /// whether the largest has reached its clamp.
  std::optional<double> bias_mean;
  std::optional<double> bias_max;
  std::optional<bool> bias_at_clamp;
  /// Share of affinities below 0.01 or above 0.99, for a router with sigmoids.
  std::optional<double> saturation;
};

struct ModelOutput {
  torch::Tensor logits_BTV;
  /// What the head reads: the last residual after its norm.
  torch::Tensor hidden_BTD;
  /// Load-balance and z losses, already weighted; undefined outside training or without experts.
  torch::Tensor auxiliary_loss;
};

/// Where training may disturb activations: after the lookup, after the embedding's norm, before the
/// head.
enum class NoiseSite { kEmbedding, kNormalized, kHidden };
/// Gives what takes the place of x_BTD at a site.
using Disturbance = std::function<torch::Tensor(NoiseSite site, const torch::Tensor& x_BTD)>;

class LanguageModel : public torch::nn::Module {
 public:
  /// `config` must be resolved. Weights are drawn on the CPU from `weights`, so that they are the
  /// same on every device; move the model with to().
  LanguageModel(const ModelConfig& config, base::RandomStream weights);
  ~LanguageModel() override;

  /// tokens_BT is int64, T <= context_tokens. Position t of the logits predicts token t + 1.
  /// Without `disturb` activations are what the weights make them.
  ModelOutput forward(const torch::Tensor& tokens_BT, const Disturbance& disturb = {});

  /// The type of activations and products, float32 (at first) or bfloat16. Weights stay as they are
  /// and are cast where they are used; routers always compute in float32.
  void set_compute_type(torch::ScalarType type);

  /// All parameters in a fixed order. Matrices are [outputs, inputs], those of experts
  /// [experts, outputs, inputs].
  std::vector<Parameter> parameters_with_roles() const;
  /// State that is saved but not trained (router biases, their averages); in checkpoints too.
  std::vector<std::pair<std::string, torch::Tensor>> state_buffers() const;

  /// Router bias updates; call once after each optimizer step, under no_grad.
  void after_optimizer_step();

  /// Load since the last reset, one entry per expert layer (none before the first token); reading
  /// it synchronises with the device.
  std::vector<RouterHealth> router_health() const;
  void reset_router_health();
  /// What router_health() has counted so far, by name: saving it lets a run that continues report
  /// the same figures as one that never stopped.
  std::vector<std::pair<std::string, torch::Tensor>> health_counters() const;
  /// Further figures of all layers, e.g. of learned mixing weights; nothing for most kinds.
  std::vector<LayerFigure> layer_figures() const;

  const ModelConfig& config() const;
  torch::Tensor embedding_VD() const;
  torch::Tensor head_VD() const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace windtunnel::model
