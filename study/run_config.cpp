#include "study/run_config.h"

#include <cmath>

#include "base/fingerprint.h"
#include "corpus/packed_corpus.h"
#include "study/objective_kind.h"

namespace windtunnel::study {

using base::Json;
using base::Problem;

namespace {

void check_training(const RunConfig& config, std::vector<Problem>& problems) {
  const TrainConfig& train = config.train;
  const int64_t context = config.model.context_tokens;
  if (train.tokens_per_step % context != 0) {
    problems.push_back({"train.tokens_per_step", std::to_string(train.tokens_per_step),
                        "must be a multiple of model.context_tokens = " + std::to_string(context)});
  } else if (train.micro_batch_rows > 0 &&
             (train.tokens_per_step / context) % train.micro_batch_rows != 0) {
    problems.push_back({"train.micro_batch_rows", std::to_string(train.micro_batch_rows),
                        "must divide the rows of a step, train.tokens_per_step / "
                        "model.context_tokens = " +
                            std::to_string(train.tokens_per_step / context)});
  }
  const ScheduleConfig& schedule = train.schedule;
  if (schedule.kind == "step_cosine" && schedule.estimated_steps <= schedule.warmup_steps) {
    problems.push_back({"train.schedule.estimated_steps", std::to_string(schedule.estimated_steps),
                        "must be more than train.schedule.warmup_steps = " +
                            std::to_string(schedule.warmup_steps)});
  }
  if (!std::isfinite(train.budget.amount)) {
    problems.push_back({"train.budget.amount", "not finite", "must be a finite number > 0"});
  }
  const std::vector<Problem> of_objectives = objective_problems(config);
  problems.insert(problems.end(), of_objectives.begin(), of_objectives.end());
}

}  // namespace

RunConfig resolve_run_config(const Json& document, const std::string& subject) {
  auto config = base::from_json<RunConfig>(document, subject);
  int64_t vocabulary = 0;
  if (!config.data.corpus.empty()) {
    vocabulary = corpus::read_manifest(config.data.corpus).vocabulary_size;
  }
  std::vector<Problem> problems;
  try {
    config.model = model::resolve(config.model, vocabulary);
  } catch (const base::ConfigError& error) {
    problems = error.problems;
  }
  check_training(config, problems);
  if (!problems.empty()) throw base::ConfigError(subject, std::move(problems));
  return config;
}

std::string config_fingerprint(const RunConfig& config) {
  Json document = base::to_json(config);
  document["train"].erase("seed");
  return base::fingerprint(document);
}

int64_t tokens_in_flight(const RunConfig& config) {
  return config.train.micro_batch_rows > 0
             ? config.train.micro_batch_rows * config.model.context_tokens
             : config.train.tokens_per_step;
}

model::Census census_of(const RunConfig& config) {
  return model::census(config.model, tokens_in_flight(config),
                       config.train.optimizer.matrices == "muon");
}

double training_flops_per_token(const RunConfig& config) {
  return census_of(config).flops_per_token_exact + objectives_cost(config).flops_per_token;
}

int64_t planned_steps(const RunConfig& config) {
  const BudgetConfig& budget = config.train.budget;
  const auto per_step = static_cast<double>(config.train.tokens_per_step);
  if (budget.kind == "seconds") return 0;
  if (budget.kind == "steps") return static_cast<int64_t>(std::ceil(budget.amount));
  double tokens = budget.amount;
  if (budget.kind == "flops") tokens = budget.amount / training_flops_per_token(config);
  if (budget.kind == "tokens_per_parameter") {
    tokens = budget.amount * static_cast<double>(census_of(config).parameters_active);
  }
  return std::max<int64_t>(1, std::llround(tokens / per_step));
}

}  // namespace windtunnel::study

WINDTUNNEL_COMPILE_FIELDS(, windtunnel::study::RunConfig)
