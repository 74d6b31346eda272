#include "study/objective_kinds/token_order.h"

#include "study/objective_kind.h"

namespace windtunnel::study {
namespace {

std::vector<base::Problem> problems(const RunConfig& config) {
  return reach_problems(config, "window", config.train.objectives.token_order.window,
                        Reach::kWindow);
}

const base::Registration<ObjectiveKind> registration{{
    .name = "token_order",
    .summary = "a second unembedding ranks upcoming tokens by how soon they come",
    .source = "Zuhri et al. 2025, arXiv:2508.19228",
    .options = base::schema_of<TokenOrderOptions>(),
    .entry = {.is_on = [](const ObjectivesConfig& all) { return all.token_order.weight > 0; },
              .problems = problems,
              .cost = unembedding_cost},
}};

}  // namespace
}  // namespace windtunnel::study
