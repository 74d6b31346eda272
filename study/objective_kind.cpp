#include "study/objective_kind.h"

#include <algorithm>

#include "model/census.h"

namespace windtunnel::study {

int64_t ObjectiveCost::parameters_total() const {
  int64_t total = 0;
  for (const auto& [role, count] : parameters) total += count;
  return total;
}

double ObjectiveCost::memory_bytes(int64_t tokens_per_micro_batch) const {
  constexpr double kBytes = 4;
  double values = saved_values_per_token * static_cast<double>(tokens_per_micro_batch);
  for (const auto& [role, count] : parameters) {
    // Weight and gradient; one momentum per matrix entry (Muon), two moments for the rest (AdamW).
    const int moments = role == model::ParameterRole::kMatrix ? 1 : 2;
    values += static_cast<double>(count) * (2 + moments);
  }
  return kBytes * values;
}

ObjectiveCost& ObjectiveCost::operator+=(const ObjectiveCost& other) {
  for (const auto& [role, count] : other.parameters) parameters[role] += count;
  flops_per_token += other.flops_per_token;
  saved_values_per_token += other.saved_values_per_token;
  return *this;
}

std::vector<base::Problem> objective_problems(const RunConfig& config) {
  std::vector<base::Problem> all;
  for (const auto& kind : ObjectiveKinds::instance().kinds()) {
    if (!kind.entry.problems || !kind.entry.is_on(config.train.objectives)) continue;
    for (base::Problem& problem : kind.entry.problems(config)) {
      problem.path = "train.objectives." + kind.name + "." + problem.path;
      all.push_back(std::move(problem));
    }
  }
  return all;
}

ObjectiveCost unembedding_cost(const RunConfig& config) {
  const int64_t table = config.model.vocabulary_size * config.model.width;
  return {.parameters = {{model::ParameterRole::kHead, table}},
          .flops_per_token = 3 * 2.0 * static_cast<double>(table),
          .saved_values_per_token = 2.0 * static_cast<double>(config.model.vocabulary_size)};
}

ObjectiveCost objectives_cost(const RunConfig& config) {
  const TrainConfig& train = config.train;
  ObjectiveCost sum;
  bool weighs_by_loss = false;
  for (const auto& kind : ObjectiveKinds::instance().kinds()) {
    if (!kind.entry.is_on(train.objectives)) continue;
    weighs_by_loss = weighs_by_loss || kind.entry.weighs_by_loss;
    if (kind.entry.cost) sum += kind.entry.cost(config);
  }
  const int64_t rows = train.tokens_per_step / config.model.context_tokens;
  if (weighs_by_loss && train.micro_batch_rows > 0 && train.micro_batch_rows < rows) {
    sum.flops_per_token +=
        model::census(config.model, train.tokens_per_step).flops_per_token_exact / 3;
  }
  return sum;
}

int64_t row_tokens_at(const RunConfig& config, double progress) {
  const SequenceWarmUpOptions& options = config.train.objectives.sequence_warm_up;
  const int64_t context = config.model.context_tokens;
  if (options.start_fraction >= 1 || progress >= options.share) return context;
  const double fraction =
      options.start_fraction + (1 - options.start_fraction) * progress / options.share;
  auto tokens = std::max<int64_t>(1, static_cast<int64_t>(fraction * static_cast<double>(context)));
  while (context % tokens != 0) --tokens;
  return tokens;
}

std::vector<base::Problem> reach_problems(const RunConfig& config, const char* field, int64_t value,
                                          Reach reach) {
  const int64_t shortest = row_tokens_at(config, 0), context = config.model.context_tokens;
  if (value < shortest || (reach == Reach::kWindow && value == shortest)) return {};
  std::string rule = reach == Reach::kWindow ? "must be at most " : "must be smaller than ";
  if (shortest < context) {
    rule += "the " + std::to_string(shortest) +
            " tokens of the first rows, train.objectives.sequence_warm_up.start_fraction x ";
  }
  return {
      {field, std::to_string(value), rule + "model.context_tokens = " + std::to_string(context)}};
}

}  // namespace windtunnel::study
