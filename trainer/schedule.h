#pragma once
// The learning rate as a function of the budget's progress, so that a faster model sees the whole
// schedule too; and, as a kind of its own, the fixed-wall study's function of the step.

#include "study/run_config.h"

namespace windtunnel::trainer {

/// Learning rate over its peak for the step after `step` steps, at `progress` in [0, 1].
///
///   cosine       rises linearly from 0 over warmup_fraction, then falls to final_fraction at
///                progress 1 on half a cosine
///   wsd          rises so, stays at 1 and falls linearly to final_fraction over the last
///                decay_fraction (or all that is left after the warm-up, if that is less)
///   constant     rises so, then stays at 1
///   step_cosine  step / warmup_steps, then half a cosine that reaches final_fraction at step
///                estimated_steps, then flat: progress counts for nothing, and the first step has
///                a rate of 0
///
/// Source: Haegele et al. 2024, arXiv:2405.18392 (wsd).
/// Errors: Error that names the kinds if schedule.kind is another.
double learning_rate_factor(const study::ScheduleConfig& schedule, double progress, int64_t step);

}  // namespace windtunnel::trainer
