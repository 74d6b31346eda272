#pragma once
// One optimizer step.

#include <torch/types.h>

#include <memory>
#include <string>
#include <vector>

#include "corpus/batches.h"
#include "model/language_model.h"
#include "trainer/optimizer.h"

namespace windtunnel::trainer {

struct StepOptions {
  torch::Device device;
  /// "float32", or "bfloat16": products in bfloat16, weights and everything else in float32.
  std::string precision;
  /// Rows whose activations are in memory at once; 0: all.
  int64_t micro_batch_rows = 0;
  double gradient_clip_norm = 1;
};

/// Scalars on the device: reading them waits for it.
struct StepResult {
  /// Cross-entropy per token without auxiliary terms, mean over the batch.
  torch::Tensor loss_nats_per_token;
  /// Global, before clipping.
  torch::Tensor gradient_norm;
};

/// Forward, backward, clipping, update, router biases. The gradients are those of the mean over all
/// tokens of the batch, however it is divided into micro-batches.
StepResult training_step(model::LanguageModel& model,
                         const std::vector<std::unique_ptr<Optimizer>>& optimizers,
                         const corpus::Batch& batch, double learning_rate,
                         const StepOptions& options);

/// The model's tensors by name, as checkpoints keep them: parameters, then state buffers.
NamedTensors weights_of(const model::LanguageModel& model);

}  // namespace windtunnel::trainer
