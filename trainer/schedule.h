#pragma once
// The learning rate as a function of the budget's progress, so that a faster model sees the whole
// schedule too.

#include "study/run_config.h"

namespace windtunnel::trainer {

/// Share of the budget over which "wsd" (warm-up, stable, decay) goes down at its end.
/// Source: Haegele et al. 2024, arXiv:2405.18392 (10 to 20 % suffice).
inline constexpr double kDecayFraction = 0.2;

/// Learning rate over its peak at `progress` in [0, 1].
///
///   all       rises linearly from 0 over warmup_fraction
///   cosine    then falls to final_fraction at progress 1 on half a cosine
///   wsd       then stays at 1 and falls linearly to final_fraction over the last kDecayFraction
///             (or all that is left after the warm-up, if that is less)
///   constant  then stays at 1
///
/// Errors: Error that names the kinds if schedule.kind is another.
double learning_rate_factor(const study::ScheduleConfig& schedule, double progress);

}  // namespace windtunnel::trainer
