#include "model/kinds/dense.h"

#include <algorithm>
#include <cmath>

#include "model/complete_options.h"
#include "model/kinds/experts.h"
#include "model/layer_kind.h"

namespace windtunnel::model {

int64_t derived_hidden(int64_t width, double expansion, int64_t parts) {
  const double units = static_cast<double>(width) * expansion / static_cast<double>(parts);
  return std::max<int64_t>(8, 8 * std::llround(units / 8));
}

int64_t dense_hidden(const DenseOptions& options, const ModelConfig& model) {
  if (options.hidden > 0) return options.hidden;
  if (model.layers.contains("E")) {
    const auto experts = layer_options<ExpertsOptions>(model, 'E');
    return experts.num_active * expert_hidden(experts, model);
  }
  return derived_hidden(model.width, kDefaultExpansion, 1);
}

namespace {

std::vector<base::Problem> problems(const base::Json&, const ModelConfig&) { return {}; }

LayerCensus census(const base::Json& json, const ModelConfig& model, const LayerPlace&) {
  const int64_t hidden = dense_hidden(base::from_trusted_json<DenseOptions>(json), model);
  LayerCensus census;
  const int64_t matrices = 3 * model.width * hidden;
  census.add(ParameterRole::kMatrix, matrices);
  census.forward_flops_per_token["dense"] = 2.0 * static_cast<double>(matrices);
  // Normalised input, gate and up, their product.
  census.saved_values_per_token = static_cast<double>(model.width + 3 * hidden);
  return census;
}

const base::Registration<LayerKind> registration{{
    .name = "dense",
    .summary = "gated feed-forward layer that every token passes: down(silu(gate x) * up x)",
    .source = "Shazeer 2020, arXiv:2002.05202",
    .entry = {.letter = 'D',
              .options_schema = base::schema_of<DenseOptions>,
              .complete = complete_options<DenseOptions>,
              .problems = problems,
              .census = census},
}};

}  // namespace
}  // namespace windtunnel::model
