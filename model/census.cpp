#include "model/census.h"

#include "model/layer_kind.h"
#include "model/pattern.h"

namespace windtunnel::model {

Census census(const ModelConfig& config, int64_t tokens_per_micro_batch) {
  const std::string letters = expand_pattern(config.pattern);
  int attention_layers = 0;
  for (const char letter : letters) attention_layers += layer_kind(letter).entry.is_attention;

  Census census;
  const int64_t table = config.vocabulary_size * config.width;
  census.parameters_by_component = {{"embedding", table}, {"head", table}};
  census.parameters_total = 2 * table;
  census.parameters_active = 2 * table;
  int64_t matrices = 0;
  int64_t scalars = 0;
  std::map<std::string, double> forward = {{"head", 2.0 * static_cast<double>(table)}};
  // Embedded and normalised tokens; the last residual and its norm; logits and their gradient.
  double saved_values = static_cast<double>(4 * config.width + 2 * config.vocabulary_size);

  int attention_index = 0;
  for (const char letter : letters) {
    const auto& kind = layer_kind(letter);
    const LayerCensus layer = kind.entry.census(config.layers.at(std::string(1, letter)), config,
                                                attention_index, attention_layers);
    attention_index += kind.entry.is_attention;
    census.parameters_total += layer.parameters_total;
    census.parameters_active += layer.parameters_active;
    census.parameters_by_component[kind.name] += layer.parameters_total;
    const int64_t layer_scalars = layer.parameters_active - layer.parameters_active_matrices;
    scalars += layer_scalars;
    matrices += layer.parameters_total - layer_scalars;
    for (const auto& [component, flops] : layer.forward_flops_per_token) {
      forward[component] += flops;
    }
    saved_values += layer.saved_values_per_token;
  }

  // The backward pass computes two products for each of the forward pass.
  for (const auto& [component, flops] : forward) {
    census.flops_per_token_by_component[component] = 3 * flops;
    census.flops_per_token_exact += 3 * flops;
  }
  census.flops_per_token_six_n = 6 * static_cast<double>(census.parameters_active);

  constexpr double kBytes = 4;
  census.weights_bytes = kBytes * static_cast<double>(census.parameters_total);
  census.gradients_bytes = census.weights_bytes;
  // One momentum per matrix entry (Muon), two moments for the rest (AdamW).
  census.optimizer_bytes = kBytes * static_cast<double>(matrices + 2 * (scalars + 2 * table));
  census.activations_bytes = kBytes * saved_values * static_cast<double>(tokens_per_micro_batch);
  return census;
}

base::Json to_json(const Census& census) {
  return {{"parameters_total", census.parameters_total},
          {"parameters_active", census.parameters_active},
          {"parameters_by_component", census.parameters_by_component},
          {"flops_per_token_exact", census.flops_per_token_exact},
          {"flops_per_token_six_n", census.flops_per_token_six_n},
          {"flops_per_token_by_component", census.flops_per_token_by_component},
          {"weights_bytes", census.weights_bytes},
          {"gradients_bytes", census.gradients_bytes},
          {"optimizer_bytes", census.optimizer_bytes},
          {"activations_bytes", census.activations_bytes},
          {"peak_bytes", census.peak_bytes()}};
}

}  // namespace windtunnel::model
