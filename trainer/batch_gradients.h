#pragma once
// The gradients of one batch, for comparison with another implementation of the model.

#include <torch/types.h>

#include "model/language_model.h"
#include "trainer/optimizer.h"

namespace windtunnel::trainer {

struct BatchGradients {
  /// Mean cross-entropy over the predicted tokens.
  double loss_nats_per_token = 0;
  /// Losses of the routers, already weighted; 0 without routers.
  double auxiliary_loss = 0;
  /// Euclidean norm of all gradients together.
  double gradient_norm = 0;
  /// One for each parameter under its name, before any clipping.
  NamedTensors gradients;
};

/// Gradients of loss + auxiliary loss in training mode, as of a first step from these weights.
///
/// Shapes: tokens_BU is int64 [rows, T + 1]: the first T are the inputs, the last T the targets.
/// State:  the model is left in training mode with these gradients and counted load; its weights
///         and state buffers are unchanged.
BatchGradients batch_gradients(model::LanguageModel& model, const torch::Tensor& tokens_BU);

}  // namespace windtunnel::trainer
