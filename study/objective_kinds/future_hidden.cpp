#include "study/objective_kinds/future_hidden.h"

#include "study/objective_kind.h"

namespace windtunnel::study {
namespace {

std::vector<base::Problem> problems(const RunConfig& config) {
  return reach_problems(config, "ahead", config.train.objectives.future_hidden.ahead,
                        Reach::kOffset);
}

/// Two square matrices; their inputs and outputs, and the error.
ObjectiveCost cost(const RunConfig& config) {
  const int64_t width = config.model.width;
  const int64_t matrices = 2 * width * width;
  return {.parameters = {{model::ParameterRole::kMatrix, matrices}},
          .flops_per_token = 3 * 2.0 * static_cast<double>(matrices),
          .saved_values_per_token = 5.0 * static_cast<double>(width)};
}

const base::Registration<ObjectiveKind> registration{{
    .name = "future_hidden",
    .summary = "a small predictor maps a hidden state to one further ahead",
    .source = "after Teoh et al. 2025, arXiv:2511.05963",
    .options = base::schema_of<FutureHiddenOptions>(),
    .entry = {.is_on = [](const ObjectivesConfig& all) { return all.future_hidden.weight > 0; },
              .problems = problems,
              .cost = cost},
}};

}  // namespace
}  // namespace windtunnel::study
