#pragma once
// Steps before the clock starts: they page in code and memory, let libraries choose their kernels,
// and measure which precision is faster. All of it is undone.

#include "study/run_config.h"
#include "trainer/training_step.h"

namespace windtunnel::trainer {

struct WarmUp {
  /// "float32" or "bfloat16": the configured one, or the faster one for "auto".
  std::string precision;
  double seconds_per_step = 0;
};

/// Trains a few steps on one batch with optimizers of its own and puts back parameters, those of
/// objectives too, state buffers and router health. The caller makes the run's optimizers
/// afterwards. Errors: Refused if the precision asked for is not there.
WarmUp warm_up(model::LanguageModel& model, Objectives& objectives, const corpus::Batch& batch,
               const study::TrainConfig& config, const torch::Device& device);

}  // namespace windtunnel::trainer
