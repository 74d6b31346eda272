#include "model/kinds/attention.h"

#include <algorithm>
#include <cmath>

#include "model/complete_options.h"
#include "model/layer_kind.h"
#include "model/pattern.h"

namespace windtunnel::model {

AttentionShape attention_shape(const AttentionOptions& options, const ModelConfig& model) {
  AttentionShape shape{.kv_heads = options.kv_heads, .head_size = options.head_size};
  if (shape.head_size == 0) {
    int64_t heads = std::max<int64_t>(2, model.width / 128);
    while (heads > 1 && model.width % (2 * heads) != 0) --heads;
    shape.head_size = model.width / heads;
  }
  shape.query_heads = model.width / shape.head_size;
  const auto head_size = static_cast<double>(shape.head_size);
  const double largest =
      options.initial_logit_scale > 0 ? options.initial_logit_scale : std::sqrt(head_size);
  shape.logit_scale_per_product = largest / head_size;
  return shape;
}

int64_t attention_window(const AttentionOptions& options, int64_t context_tokens,
                         const LayerPlace& place) {
  const char letter = options.windows[static_cast<size_t>(place.ordinal) % options.windows.size()];
  if (letter == 'L' || place.is_last()) return context_tokens;
  return options.short_window > 0 ? options.short_window : std::max<int64_t>(1, context_tokens / 2);
}

bool mixes_values(const AttentionOptions& options, const LayerPlace& place) {
  return options.value_mix.kind != "none" && place.ordinal >= options.value_mix.from_layer;
}

namespace {

/// Mean over a row of the keys a causal query sees within `window`.
double mean_keys(int64_t context_tokens, int64_t window) {
  const auto rows = static_cast<double>(context_tokens);
  const auto width = static_cast<double>(std::min(window, context_tokens));
  return (width * (width + 1) / 2 + (rows - width) * width) / rows;
}

/// Attention positions of the model.
int64_t attention_layers(const ModelConfig& model) {
  const std::string letters = expand_pattern(model.pattern);
  return std::ranges::count_if(letters,
                               [](char letter) { return layer_kind(letter).entry.is_attention; });
}

void check_value_mix(const ValueMixOptions& mix, const ModelConfig& model,
                     std::vector<base::Problem>& found) {
  if (mix.kind == "none") return;
  const int64_t layers = attention_layers(model);
  if (mix.from_layer < 1) {
    found.push_back({"value_mix.from_layer", std::to_string(mix.from_layer),
                     "must be at least 1: attention layer 0 makes the values that later layers mix "
                     "in and has none to mix itself"});
  } else if (mix.from_layer >= layers) {
    found.push_back({"value_mix.from_layer", std::to_string(mix.from_layer),
                     "must be below the number of attention layers in model.pattern, " +
                         std::to_string(layers) + ", or value_mix.kind be none"});
  }
  if (mix.kind == "normalized" && (mix.first <= 0 || mix.own <= 0)) {
    found.push_back({"value_mix", base::Json({mix.first, mix.own}).dump(),
                     "first and own must be above 0 where they are normalized"});
  }
}

std::vector<base::Problem> problems(const base::Json& json, const ModelConfig& model) {
  const auto options = base::from_trusted_json<AttentionOptions>(json);
  std::vector<base::Problem> found;
  const std::string width = std::to_string(model.width);
  if (options.windows.empty() || options.windows.find_first_not_of("SL") != std::string::npos) {
    found.push_back({"windows", base::Json(options.windows).dump(),
                     "must be one or more of the letters S and L, for instance SSSL"});
  }
  if (options.head_size % 2 != 0) {
    found.push_back({"head_size", std::to_string(options.head_size),
                     "must be even, because rotary positions turn pairs of values"});
  } else if (options.head_size == 0 && model.width % 2 != 0) {
    found.push_back({"head_size", "0",
                     "no even head size divides model.width = " + width + "; make the width even"});
  } else if (options.head_size > 0 && model.width % options.head_size != 0) {
    found.push_back({"head_size", std::to_string(options.head_size),
                     "must divide model.width = " + width + ", or be 0 to follow it"});
  } else {
    const int64_t heads = attention_shape(options, model).query_heads;
    if (heads % options.kv_heads != 0) {
      found.push_back({"kv_heads", std::to_string(options.kv_heads),
                       "must divide the number of query heads, model.width / head_size = " +
                           std::to_string(heads)});
    }
  }
  if (options.short_window > model.context_tokens) {
    found.push_back({"short_window", std::to_string(options.short_window),
                     "must be at most model.context_tokens = " +
                         std::to_string(model.context_tokens) + ", or 0 for half of it"});
  }
  check_value_mix(options.value_mix, model, found);
  return found;
}

LayerCensus census(const base::Json& json, const ModelConfig& model, const LayerPlace& place) {
  const auto options = base::from_trusted_json<AttentionOptions>(json);
  const AttentionShape shape = attention_shape(options, model);
  const int64_t query = shape.query_heads * shape.head_size;
  const int64_t keys = shape.kv_heads * shape.head_size;
  const int64_t matrices = 2 * model.width * query + 2 * model.width * keys;
  const int64_t window = attention_window(options, model.context_tokens, place);
  LayerCensus census;
  census.add(ParameterRole::kMatrix, matrices);
  census.add(ParameterRole::kScalar, 1);  // the gain of the queries
  if (options.gate.kind != "none") {
    census.add(ParameterRole::kGate, shape.query_heads * model.width);
    census.add(ParameterRole::kScalar, shape.query_heads);
    census.forward_flops_per_token["attention.gate"] =
        2.0 * static_cast<double>(shape.query_heads * model.width);
  }
  if (mixes_values(options, place) && options.value_mix.kind != "fixed") {
    census.add(ParameterRole::kScalar, options.value_mix.kind == "residual" ? 1 : 2);
  }
  census.attention_reach = query * std::min(window, model.context_tokens);
  census.forward_flops_per_token["attention.projections"] = 2.0 * static_cast<double>(matrices);
  // Queries times keys, and weights times values.
  census.forward_flops_per_token["attention.scores"] =
      4.0 * static_cast<double>(query) * mean_keys(model.context_tokens, window);
  // Input, normalised input, queries and keys before and after the rotation, values, result.
  census.saved_values_per_token = static_cast<double>(2 * model.width + 3 * query + 3 * keys);
  // Mixed values in a new merged tensor; heads before the gate and the projection.
  if (mixes_values(options, place)) census.saved_values_per_token += double(query + 3 * keys);
  if (options.gate.kind != "none" || options.exclusive) {
    census.saved_values_per_token += static_cast<double>(query);
  }
  return census;
}

const base::Registration<LayerKind> registration{{
    .name = "attention",
    .summary =
        "causal self-attention: grouped heads, rotary positions, normalised queries and keys",
    .source = "Vaswani et al. 2017, arXiv:1706.03762",
    .entry = {.letter = '*',
              .is_attention = true,
              .options_schema = base::schema_of<AttentionOptions>,
              .complete = complete_options<AttentionOptions>,
              .problems = problems,
              .census = census},
}};

}  // namespace
}  // namespace windtunnel::model
