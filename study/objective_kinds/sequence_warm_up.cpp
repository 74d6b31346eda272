#include "study/objective_kinds/sequence_warm_up.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "model/kinds/attention.h"
#include "model/layer_kind.h"
#include "model/pattern.h"
#include "study/objective_kind.h"

namespace windtunnel::study {
namespace {

std::vector<base::Problem> problems(const RunConfig& config) {
  const double fraction = config.train.objectives.sequence_warm_up.start_fraction;
  const int64_t context = config.model.context_tokens;
  const double start = fraction * static_cast<double>(context);
  const int64_t tokens = std::llround(start);
  if (tokens >= 2 && static_cast<double>(tokens) == start && context % tokens == 0) return {};
  return {{"start_fraction", base::Json(fraction).dump(),
           "must give rows of 2 or more tokens that divide model.context_tokens = " +
               std::to_string(context) + ", for instance 0.5, 0.25 or 0.125"}};
}

/// Mean over a row of the keys a causal query sees within `window`.
double mean_keys(int64_t row_tokens, int64_t window) {
  const auto rows = static_cast<double>(row_tokens);
  const auto width = static_cast<double>(std::min(window, row_tokens));
  return (width * (width + 1) / 2 + (rows - width) * width) / rows;
}

/// The attention scores that shorter rows save, averaged over the budget. Windows stay those of the
/// full context.
ObjectiveCost cost(const RunConfig& config) {
  const model::ModelConfig& model = config.model;
  const std::string letters = model::expand_pattern(model.pattern);
  if (letters.find('*') == std::string::npos) return {};
  const auto options = model::layer_options<model::AttentionOptions>(model, '*');
  const model::AttentionShape shape = model::attention_shape(options, model);
  const auto query = static_cast<double>(shape.query_heads * shape.head_size);
  // Query features of all layers times the keys they see in rows of a length.
  const auto scores = [&](int64_t row_tokens) {
    double sum = 0;
    for (const model::LayerPlace& place : model::layer_places(letters)) {
      if (letters[static_cast<size_t>(place.position)] != '*') continue;
      sum += query *
             mean_keys(row_tokens, model::attention_window(options, model.context_tokens, place));
    }
    return sum;
  };
  // At the middle of many equal parts of the budget, as the trainer takes the middle of a step.
  constexpr int kParts = 1000;
  std::map<int64_t, int> parts_by_length;
  for (int part = 0; part < kParts; ++part) {
    ++parts_by_length[row_tokens_at(config, (part + 0.5) / kParts)];
  }
  double mean = 0;
  for (const auto& [row_tokens, parts] : parts_by_length) {
    mean += scores(row_tokens) * parts / kParts;
  }
  return {.flops_per_token = 3 * 4.0 * (mean - scores(model.context_tokens))};
}

const base::Registration<ObjectiveKind> registration{{
    .name = "sequence_warm_up",
    .summary = "rows are cut into shorter contexts that grow to the full one; tokens per step stay",
    .source = "Li et al. 2021, arXiv:2108.06084",
    .options = base::schema_of<SequenceWarmUpOptions>(),
    .entry = {.is_on =
                  [](const ObjectivesConfig& all) {
                    return all.sequence_warm_up.start_fraction < 1;
                  },
              .problems = problems,
              .cost = cost},
}};

}  // namespace
}  // namespace windtunnel::study
