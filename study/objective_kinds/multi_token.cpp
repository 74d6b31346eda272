#include "study/objective_kinds/multi_token.h"

#include "study/objective_kind.h"

namespace windtunnel::study {
namespace {

std::vector<base::Problem> problems(const RunConfig& config) {
  return reach_problems(config, "heads", config.train.objectives.multi_token.heads, Reach::kOffset);
}

/// Each head has a square matrix of its own and uses the model's unembedding once more.
ObjectiveCost cost(const RunConfig& config) {
  const int64_t heads = config.train.objectives.multi_token.heads;
  const int64_t width = config.model.width, vocabulary = config.model.vocabulary_size;
  return {.parameters = {{model::ParameterRole::kMatrix, heads * width * width}},
          .flops_per_token = 3 * 2.0 * static_cast<double>(heads * width * (width + vocabulary)),
          .saved_values_per_token = static_cast<double>(heads * (3 * width + 2 * vocabulary))};
}

const base::Registration<ObjectiveKind> registration{{
    .name = "multi_token",
    .summary = "heads beside the own one predict tokens further ahead",
    .source = "Gloeckle et al. 2024, arXiv:2404.19737",
    .options = base::schema_of<MultiTokenOptions>(),
    .entry = {.is_on = [](const ObjectivesConfig& all) { return all.multi_token.heads > 0; },
              .problems = problems,
              .cost = cost},
}};

}  // namespace
}  // namespace windtunnel::study
