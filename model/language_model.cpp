#include "model/language_model.h"

#include "base/error.h"
#include "kernels/linear.h"
#include "kernels/rms_norm.h"
#include "model/layer.h"
#include "model/layer_kind.h"
#include "model/pattern.h"

namespace windtunnel::model {

struct LanguageModel::Parts {
  ModelConfig config;
  torch::Tensor embedding_VD, head_VD;
  std::vector<std::shared_ptr<Layer>> layers;
  /// "layers.3.experts." for each layer.
  std::vector<std::string> prefixes;
  /// Auxiliary losses are averaged over these, so that a deeper model is not pushed harder.
  int feed_forward_layers = 0;
  torch::ScalarType compute_type = torch::kFloat32;
};

LanguageModel::LanguageModel(const ModelConfig& config, base::RandomStream weights)
    : parts_(std::make_unique<Parts>()) {
  if (config.vocabulary_size <= 0) {
    throw base::Error(
        "model.vocabulary_size = 0: a model needs the number of tokens; set it or "
        "resolve the configuration against a corpus");
  }
  Parts& parts = *parts_;
  parts.config = config;
  const uint64_t seed = weights.next();
  const WeightSource source(seed, "", config.initialization);
  const std::vector<int64_t> table = {config.vocabulary_size, config.width};
  parts.embedding_VD =
      register_parameter("embedding", source.draw("embedding", table, config.width));

  const std::string letters = expand_pattern(config.pattern);
  const std::vector<LayerPlace> places = layer_places(letters);
  for (const LayerPlace& place : places) {
    const auto& kind = layer_kind(letters[static_cast<size_t>(place.position)]);
    const std::string prefix = "layers." + std::to_string(place.position) + "." + kind.name + ".";
    const auto& factory = LayerFactories::instance().get(kind.name, "layer kind");
    auto layer =
        factory.entry.make(config, place, WeightSource(seed, prefix, config.initialization));
    register_module("layer" + std::to_string(place.position), layer);
    parts.layers.push_back(std::move(layer));
    parts.prefixes.push_back(prefix);
    parts.feed_forward_layers += !kind.entry.is_attention;
  }
  parts.head_VD = register_parameter("head", source.draw("head", table, config.width));
}

LanguageModel::~LanguageModel() = default;

ModelOutput LanguageModel::forward(const torch::Tensor& tokens_BT, const Disturbance& disturb) {
  const Parts& parts = *parts_;
  base::check(tokens_BT.dim() == 2 && tokens_BT.size(1) <= parts.config.context_tokens,
              "tokens must have the shape [B, T] with T at most context_tokens");
  // Double weights (gradient checks) compute in double.
  const auto type =
      parts.embedding_VD.scalar_type() == torch::kDouble ? torch::kDouble : parts.compute_type;
  const auto disturbed = [&](NoiseSite site, const torch::Tensor& x_BTD) {
    return disturb ? disturb(site, x_BTD) : x_BTD;
  };
  const auto embedded_BTD =
      disturbed(NoiseSite::kEmbedding, torch::embedding(parts.embedding_VD, tokens_BT).to(type));
  auto residual_BTD = disturbed(NoiseSite::kNormalized, kernels::rms_norm(embedded_BTD));
  ForwardPass pass;
  pass.tokens_BT = tokens_BT;
  for (const auto& layer : parts.layers) residual_BTD = layer->forward(residual_BTD, pass);
  ModelOutput output;
  output.hidden_BTD = disturbed(NoiseSite::kHidden, kernels::rms_norm(residual_BTD));
  output.logits_BTV = kernels::linear(output.hidden_BTD, {parts.head_VD});
  for (const auto& loss : pass.auxiliary_losses) {
    output.auxiliary_loss = output.auxiliary_loss.defined() ? output.auxiliary_loss + loss : loss;
  }
  if (output.auxiliary_loss.defined()) {
    output.auxiliary_loss = output.auxiliary_loss / parts.feed_forward_layers;
  }
  return output;
}

void LanguageModel::set_compute_type(torch::ScalarType type) {
  base::check(type == torch::kFloat32 || type == torch::kBFloat16,
              "a model computes in float32 or bfloat16");
  parts_->compute_type = type;
}

std::vector<Parameter> LanguageModel::parameters_with_roles() const {
  std::vector<Parameter> all = {{"embedding", parts_->embedding_VD, ParameterRole::kEmbedding}};
  for (size_t i = 0; i < parts_->layers.size(); ++i) {
    for (Parameter parameter : parts_->layers[i]->own_parameters()) {
      parameter.name = parts_->prefixes[i] + parameter.name;
      all.push_back(std::move(parameter));
    }
  }
  all.push_back({"head", parts_->head_VD, ParameterRole::kHead});
  return all;
}

std::vector<std::pair<std::string, torch::Tensor>> LanguageModel::state_buffers() const {
  std::vector<std::pair<std::string, torch::Tensor>> all;
  for (size_t i = 0; i < parts_->layers.size(); ++i) {
    for (auto& [name, buffer] : parts_->layers[i]->state_buffers()) {
      all.emplace_back(parts_->prefixes[i] + name, buffer);
    }
  }
  return all;
}

void LanguageModel::after_optimizer_step() {
  const torch::NoGradGuard no_grad;
  for (const auto& layer : parts_->layers) layer->after_optimizer_step();
}

std::vector<RouterHealth> LanguageModel::router_health() const {
  std::vector<RouterHealth> all;
  for (const auto& layer : parts_->layers) {
    if (const auto health = layer->router_health()) all.push_back(*health);
  }
  return all;
}

void LanguageModel::reset_router_health() {
  for (const auto& layer : parts_->layers) layer->reset_router_health();
}

std::vector<std::pair<std::string, torch::Tensor>> LanguageModel::health_counters() const {
  std::vector<std::pair<std::string, torch::Tensor>> all;
  for (size_t i = 0; i < parts_->layers.size(); ++i) {
    for (auto& [name, counter] : parts_->layers[i]->health_counters()) {
      all.emplace_back(parts_->prefixes[i] + name, counter);
    }
  }
  return all;
}

std::vector<LayerFigure> LanguageModel::layer_figures() const {
  std::vector<LayerFigure> all;
  for (size_t i = 0; i < parts_->layers.size(); ++i) {
    for (auto& [name, value] : parts_->layers[i]->figures()) {
      all.push_back({static_cast<int>(i), name, value});
    }
  }
  return all;
}

const ModelConfig& LanguageModel::config() const { return parts_->config; }

torch::Tensor LanguageModel::embedding_VD() const { return parts_->embedding_VD; }

torch::Tensor LanguageModel::head_VD() const { return parts_->head_VD; }

}  // namespace windtunnel::model
