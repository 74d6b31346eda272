#pragma once
// The LibTorch-free half of a training objective: options, when it is on, rules and costs. Its
// other half, the computation, is in trainer/objectives/ and registered as an ObjectiveFactory
// under the same name (trainer/objective.h).

#include <map>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/registry.h"
#include "model/parameter_role.h"
#include "study/run_config.h"

namespace windtunnel::study {

/// What an objective costs on top of the model (model/census.h), over the whole budget.
struct ObjectiveCost {
  /// Weights of its own: trained, kept in checkpoints so that a run can continue, and no part of
  /// the model.
  std::map<model::ParameterRole, int64_t> parameters;
  /// Of training, forward and backward. Below zero where the objective saves.
  double flops_per_token = 0;
  /// Values kept for the backward pass, per token of a micro-batch.
  double saved_values_per_token = 0;

  int64_t parameters_total() const;
  /// Estimate in fp32: weights, gradients, optimizer state, kept values.
  double memory_bytes(int64_t tokens_per_micro_batch) const;
  ObjectiveCost& operator+=(const ObjectiveCost& other);
};

/// Registered under the name of its member in ObjectivesConfig; one file each in
/// study/objective_kinds/. All functions get a resolved configuration.
struct ObjectiveKind {
  /// False at the neutral setting: nothing is computed then.
  bool (*is_on)(const ObjectivesConfig& objectives);
  /// Its weights follow from the losses of the whole step: a step in micro-batches then needs all
  /// losses before the first gradient, which costs a second forward pass.
  bool weighs_by_loss = false;
  /// Rules beyond the schema; paths relative to the options, e.g. "heads". May be empty.
  std::vector<base::Problem> (*problems)(const RunConfig& config) = nullptr;
  /// Empty: nothing worth counting.
  ObjectiveCost (*cost)(const RunConfig& config) = nullptr;
};

using ObjectiveKinds = base::Registry<ObjectiveKind>;

/// Of those that are on.
std::vector<base::Problem> objective_problems(const RunConfig& config);

/// Of an objective with an unembedding of its own: a matrix the size of the head, its logits and
/// their gradient.
ObjectiveCost unembedding_cost(const RunConfig& config);

/// The sum of those that are on, and the second forward pass if they need one.
ObjectiveCost objectives_cost(const RunConfig& config);

/// Tokens of a row at `progress` in [0, 1]: model.context_tokens but for a sequence warm-up, whose
/// rows grow linearly from the first length to it over the warm-up's share of the budget, always to
/// the longest length so far that divides it.
int64_t row_tokens_at(const RunConfig& config, double progress);

/// How an objective looks ahead within a row.
enum class Reach {
  /// A window of so many upcoming tokens: at most those that the row has.
  kWindow,
  /// Places beyond the next token, or beyond the own one: fewer than the row has tokens.
  kOffset
};

/// Nothing if `value`, that of `field`, stays within the first, shortest rows of the run.
std::vector<base::Problem> reach_problems(const RunConfig& config, const char* field, int64_t value,
                                          Reach reach);

}  // namespace windtunnel::study
