#include "study/objective_kinds/future_bag.h"

#include "study/objective_kind.h"

namespace windtunnel::study {
namespace {

std::vector<base::Problem> problems(const RunConfig& config) {
  return reach_problems(config, "window", config.train.objectives.future_bag.window,
                        Reach::kWindow);
}

const base::Registration<ObjectiveKind> registration{{
    .name = "future_bag",
    .summary = "a second unembedding says which tokens come within a window, in any order",
    .source = "Mahajan et al. 2025, arXiv:2510.14751",
    .options = base::schema_of<FutureBagOptions>(),
    .entry = {.is_on = [](const ObjectivesConfig& all) { return all.future_bag.weight > 0; },
              .problems = problems,
              .cost = unembedding_cost},
}};

}  // namespace
}  // namespace windtunnel::study
