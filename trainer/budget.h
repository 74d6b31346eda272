#pragma once
// How much training a run gets, whatever it is counted in.

#include <cstdint>

#include "study/run_config.h"

namespace windtunnel::trainer {

/// What a run has used so far.
struct Spent {
  /// Optimizer steps; fractions stand for a moment within a step.
  double steps = 0;
  /// Measured training: neither start-up, warm-up, checkpoints nor evaluation.
  double seconds = 0;
};

/// Progress of a run in [0, 1], on its budget's own clock: measured seconds, or steps for every
/// budget whose number of steps is known before training (steps, tokens, flops,
/// tokens_per_parameter).
class Budget {
 public:
  /// `config` must be resolved.
  explicit Budget(const study::RunConfig& config);
  Budget(const study::BudgetConfig& budget, int64_t planned_steps);

  double progress(const Spent& spent) const;
  /// True as soon as the whole budget is used; a budget of seconds is passed by at most one step.
  bool exhausted(const Spent& spent) const { return progress(spent) >= 1; }
  /// Only then are two runs of one configuration and seed equal bit for bit.
  bool counts_steps() const { return planned_steps_ > 0; }
  /// 0 for a budget of seconds.
  int64_t planned_steps() const { return planned_steps_; }

 private:
  double seconds_ = 0;
  int64_t planned_steps_ = 0;
};

}  // namespace windtunnel::trainer
