#pragma once
// The contract of the computing half of a layer kind: one file in model/layers/ that includes this
// header, defines a Layer and registers a LayerFactory under the name that its LayerKind has
// (layer_kind.h).

#include <torch/nn/module.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/random.h"
#include "base/registry.h"
#include "model/language_model.h"
#include "model/layer_kind.h"
#include "model/model_config.h"

namespace windtunnel::model {

/// Draws initial weights, each from a stream of its own: changing one layer leaves the start of all
/// others as it was.
class WeightSource {
 public:
  /// `initialization` is that of ModelConfig.
  WeightSource(uint64_t seed, std::string prefix, const std::string& initialization = "fan_in")
      : seed_(seed), prefix_(std::move(prefix)), initialization_(initialization) {}

  /// Normal with standard deviation 1 / sqrt(fan_in) ("fan_in") or 1 / fan_in ("inverse_fan_in"),
  /// cut off at three of them; on the CPU, fp32.
  torch::Tensor draw(const std::string& name, at::IntArrayRef sizes, int64_t fan_in) const;

 private:
  uint64_t seed_;
  std::string prefix_;
  std::string initialization_;
};

/// What the layers of one forward pass share.
struct ForwardPass {
  /// int64; the tokens that were embedded.
  torch::Tensor tokens_BT;
  /// Values of the first attention layer, [B, T, kv heads * head size]; undefined before it.
  torch::Tensor first_values_BTV;
  /// In training: losses of the layers, already weighted.
  std::vector<torch::Tensor> auxiliary_losses;
};

/// One position of the pattern.
///
/// Contract (tests/model/layer_contract_test.cpp runs over every registered kind): the shape is
/// kept; a token never depends on later ones nor on other rows; same weights and input, same bits;
/// gradients are right in double; parameters are as many as the census says.
/// State:   parameters and buffers of the module; forward may add to load counters.
class Layer : public torch::nn::Module {
 public:
  /// residual_BTD -> residual_BTD with the layer's output added. Works in the type of the residual;
  /// weights are cast to it. In training, losses of its own go to `pass.auxiliary_losses`.
  virtual torch::Tensor forward(const torch::Tensor& residual_BTD, ForwardPass& pass) = 0;

  /// Names within the layer, e.g. "query"; in the order of construction.
  const std::vector<Parameter>& own_parameters() const { return own_parameters_; }
  /// What is saved besides parameters.
  virtual std::vector<std::pair<std::string, torch::Tensor>> state_buffers() const { return {}; }

  /// What the layer tells about itself besides router health, as scalars on the device by name,
  /// e.g. "value_mix.first": of the last step in training. Reading them waits for the device.
  virtual std::vector<std::pair<std::string, torch::Tensor>> figures() const { return {}; }

  /// Called once after each optimizer step, without gradients.
  virtual void after_optimizer_step() {}

  /// Of the tokens since the last reset; nothing for a layer without a router or before any token.
  virtual std::optional<RouterHealth> router_health() const { return std::nullopt; }
  virtual void reset_router_health() {}
  /// The counters behind it, by name.
  virtual std::vector<std::pair<std::string, torch::Tensor>> health_counters() const { return {}; }

 protected:
  torch::Tensor add_parameter(const std::string& name, ParameterRole role, torch::Tensor value);

  /// x times a factor for depth; x itself where that is one.
  static torch::Tensor scaled(const torch::Tensor& x, double factor) {
    return factor == 1 ? x : x * factor;
  }

 private:
  std::vector<Parameter> own_parameters_;
};

struct LayerFactory {
  /// `model` must be resolved.
  std::shared_ptr<Layer> (*make)(const ModelConfig& model, const LayerPlace& place,
                                 const WeightSource& weights);
};

using LayerFactories = base::Registry<LayerFactory>;

}  // namespace windtunnel::model
