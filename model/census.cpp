#include "model/census.h"

#include <algorithm>

#include "model/pattern.h"

namespace windtunnel::model {
namespace {

/// A process keeps freed blocks for the next step, and blocks of other sizes leave gaps: what is
/// held over what is in use. Measured: 1.05 to 1.6 over a dozen models of all kinds.
constexpr double kHeldOverUsed = 1.35;
/// Query, key and value, or gate and up, of the matrices of their layer.
constexpr double kStackedShare = 2.0 / 3;

}  // namespace

double Census::peak_bytes() const {
  // The warm-up keeps the weights that it puts back afterwards.
  const double always = 2 * weights_bytes + optimizer_bytes;
  const double passes = activations_bytes + stacked_bytes;
  const double update = gradients_bytes + updates_bytes;
  return kHeldOverUsed * (always + std::max(passes, update));
}

Census census(const ModelConfig& config, int64_t tokens_per_micro_batch, bool muon) {
  Census census;
  const int64_t table = config.vocabulary_size * config.width;
  census.parameters_by_component = {{"embedding", table}, {"head", table}};
  LayerCensus all;
  all.add(ParameterRole::kEmbedding, table);
  all.add(ParameterRole::kHead, table);
  all.forward_flops_per_token["head"] = 2.0 * static_cast<double>(table);
  // Embedded and normalised tokens; the last residual and its norm; logits and their gradient.
  all.saved_values_per_token = static_cast<double>(4 * config.width + 2 * config.vocabulary_size);

  const std::string letters = expand_pattern(config.pattern);
  for (const LayerPlace& place : layer_places(letters)) {
    const char letter = letters[static_cast<size_t>(place.position)];
    const auto& kind = layer_kind(letter);
    const LayerCensus layer =
        kind.entry.census(config.layers.at(std::string(1, letter)), config, place);
    for (const auto& [role, count] : layer.parameters) all.add(role, count.total, count.active);
    for (const auto& [component, flops] : layer.forward_flops_per_token) {
      all.forward_flops_per_token[component] += flops;
    }
    all.attention_reach += layer.attention_reach;
    all.saved_values_per_token += layer.saved_values_per_token;
    census.parameters_by_component[kind.name] += layer.sum().total;
  }
  census.parameters_by_role = all.parameters;
  census.parameters_total = all.sum().total;
  census.parameters_active = all.sum().active;

  // The backward pass computes two products for each of the forward pass.
  for (const auto& [component, flops] : all.forward_flops_per_token) {
    census.flops_per_token_by_component[component] = 3 * flops;
    census.flops_per_token_exact += 3 * flops;
  }
  const int64_t multiplied =
      census.parameters_active - table - all.parameters[ParameterRole::kScalar].active;
  census.flops_per_token_source =
      6 * static_cast<double>(multiplied) + 12 * static_cast<double>(all.attention_reach);
  census.flops_per_token_six_n = 6 * static_cast<double>(census.parameters_active);

  constexpr double kBytes = 4;
  census.weights_bytes = kBytes * static_cast<double>(census.parameters_total);
  census.gradients_bytes = census.weights_bytes;
  // One momentum per matrix entry (Muon), two moments for the rest (AdamW).
  int64_t moments = 0, matrices = 0;
  for (const auto& [role, count] : all.parameters) {
    const bool is_matrix = trains_as_matrix(role);
    if (is_matrix) matrices += count.total;
    moments += count.total * (is_matrix && muon ? 1 : 2);
  }
  census.optimizer_bytes = kBytes * static_cast<double>(moments);
  census.updates_bytes = muon ? 2 * kBytes * static_cast<double>(matrices) : 0;
  census.stacked_bytes = kBytes * kStackedShare * static_cast<double>(matrices);
  census.activations_bytes =
      kBytes * all.saved_values_per_token * static_cast<double>(tokens_per_micro_batch);
  return census;
}

base::Json to_json(const Census& census) {
  base::Json by_role = base::Json::object();
  for (const auto& [role, count] : census.parameters_by_role) {
    by_role[std::string(name_of(role))] = count.total;
  }
  return {{"parameters",
           {{"active", census.parameters_active},
            {"total", census.parameters_total},
            {"by_role", std::move(by_role)},
            {"by_component", census.parameters_by_component}}},
          {"flops_per_token",
           {{"exact", census.flops_per_token_exact},
            {"source", census.flops_per_token_source},
            {"six_n", census.flops_per_token_six_n},
            {"by_component", census.flops_per_token_by_component}}},
          {"memory_bytes",
           {{"weights", census.weights_bytes},
            {"gradients", census.gradients_bytes},
            {"optimizer", census.optimizer_bytes},
            {"activations", census.activations_bytes},
            {"stacked", census.stacked_bytes},
            {"updates", census.updates_bytes},
            {"peak", census.peak_bytes()}}}};
}

}  // namespace windtunnel::model
