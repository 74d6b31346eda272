#include "study/objective_kinds/future_bag.h"

#include "study/objective_kind.h"

namespace windtunnel::study {
namespace {

std::vector<base::Problem> problems(const RunConfig& config) {
  return reach_problems(config, "window", config.train.objectives.future_bag.window,
                        Reach::kWindow);
}

/// An unembedding of its own: a matrix the size of the head, its logits and their gradient.
ObjectiveCost cost(const RunConfig& config) {
  const int64_t table = config.model.vocabulary_size * config.model.width;
  return {.parameters = {{model::ParameterRole::kHead, table}},
          .flops_per_token = 3 * 2.0 * static_cast<double>(table),
          .saved_values_per_token = 2.0 * static_cast<double>(config.model.vocabulary_size)};
}

const base::Registration<ObjectiveKind> registration{{
    .name = "future_bag",
    .summary = "a second unembedding says which tokens come within a window, in any order",
    .source = "Mahajan et al. 2025, arXiv:2510.14751",
    .options = base::schema_of<FutureBagOptions>(),
    .entry = {.is_on = [](const ObjectivesConfig& all) { return all.future_bag.weight > 0; },
              .problems = problems,
              .cost = cost},
}};

}  // namespace
}  // namespace windtunnel::study
