#pragma once
// One optimizer step.

#include <torch/types.h>

#include <memory>
#include <string>
#include <vector>

#include "corpus/batches.h"
#include "model/language_model.h"
#include "trainer/embedding_noise.h"
#include "trainer/gradient_norms.h"
#include "trainer/objective.h"
#include "trainer/optimizer.h"

namespace windtunnel::trainer {

/// What is the same in all steps of a run.
struct StepOptions {
  torch::Device device;
  /// "float32", or "bfloat16": products in bfloat16, weights and everything else in float32.
  std::string precision;
  /// Rows whose activations are in memory at once; 0: all. Rows of the full context: of shorter
  /// ones, as many more.
  int64_t micro_batch_rows = 0;
  double gradient_clip_norm = 1;
  EmbeddingNoise noise = {};
};

/// Where in the run a step stands.
struct StepMoment {
  double learning_rate = 0;
  /// Of the budget, in [0, 1].
  double progress = 1;
};

/// Scalars on the device: reading them waits for it.
struct StepResult {
  /// Plain cross-entropy per token, mean over the batch: without the weights and losses of
  /// objectives and without auxiliary terms.
  torch::Tensor loss_nats_per_token;
  /// Before clipping; each_P in the order of trained_parameters().
  GradientNorms gradient_norms;
};

/// Forward, backward, clipping, update, router biases. The gradients are those of the loss of the
/// whole batch, however it is divided into micro-batches, but for the model's auxiliary losses,
/// which are means over a micro-batch. If objectives weigh by loss and there are several
/// micro-batches, a first forward pass over all of them gives the losses.
StepResult training_step(model::LanguageModel& model, Objectives& objectives,
                         const std::vector<std::unique_ptr<Optimizer>>& optimizers,
                         const corpus::Batch& batch, const StepMoment& moment,
                         const StepOptions& options);

/// The model's tensors by name, as checkpoints keep them: parameters, then state buffers.
NamedTensors weights_of(const model::LanguageModel& model);

/// What only training needs, by name, as checkpoints keep it apart from the weights: of optimizers
/// and objectives, and the router health since the last point of the curve.
NamedTensors training_state(const model::LanguageModel& model, const Objectives& objectives,
                            const std::vector<std::unique_ptr<Optimizer>>& optimizers);

/// What the optimizers train: the model's parameters, then those of objectives.
std::vector<model::Parameter> trained_parameters(const model::LanguageModel& model,
                                                 const Objectives& objectives);

}  // namespace windtunnel::trainer
