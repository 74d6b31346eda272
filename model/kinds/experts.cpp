#include "model/kinds/experts.h"

#include "model/kinds/dense.h"
#include "model/layer_kind.h"

namespace windtunnel::model {

int64_t expert_hidden(const ExpertsOptions& options, const ModelConfig& model) {
  if (options.hidden > 0) return options.hidden;
  return derived_hidden(model.width, options.expansion, options.num_active);
}

namespace {

std::vector<base::Problem> problems(const base::Json& json, const ModelConfig&) {
  const auto options = base::from_trusted_json<ExpertsOptions>(json);
  std::vector<base::Problem> found;
  if (options.num_active > options.num_experts) {
    found.push_back({"num_active", std::to_string(options.num_active),
                     "must be at most num_experts = " + std::to_string(options.num_experts)});
  }
  return found;
}

base::Json complete(const base::Json& json) {
  auto options = base::from_trusted_json<ExpertsOptions>(json);
  options.router = complete_router(options.router);
  return base::to_json(options);
}

LayerCensus census(const base::Json& json, const ModelConfig& model, const LayerPlace&) {
  const auto options = base::from_trusted_json<ExpertsOptions>(json);
  const int64_t hidden = expert_hidden(options, model);
  const int64_t one_expert = 3 * model.width * hidden;
  const int64_t router = options.num_experts * model.width;
  LayerCensus census;
  census.add(ParameterRole::kRouter, router);
  census.add(ParameterRole::kExpertMatrices, options.num_experts * one_expert,
             options.num_active * one_expert);
  census.forward_flops_per_token["router"] = 2.0 * static_cast<double>(router);
  census.forward_flops_per_token["experts"] =
      2.0 * static_cast<double>(options.num_active * one_expert);
  // Normalised input, router logits; for each visited expert its input, gate and up and their
  // product, its number (8 bytes), weight and places.
  census.saved_values_per_token = static_cast<double>(
      model.width + options.num_experts + options.num_active * (model.width + 3 * hidden + 6));
  return census;
}

const base::Registration<LayerKind> registration{{
    .name = "experts",
    .summary = "K of E gated feed-forward experts per token, no token dropped",
    .source = "Shazeer et al. 2017, arXiv:1701.06538; Gale et al. 2022, arXiv:2211.15841",
    .entry = {.letter = 'E',
              .options_schema = base::schema_of<ExpertsOptions>,
              .complete = complete,
              .problems = problems,
              .census = census},
}};

}  // namespace
}  // namespace windtunnel::model
