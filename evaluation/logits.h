#pragma once
// The raw outputs of a model.

#include <torch/types.h>

#include "model/language_model.h"

namespace windtunnel::evaluation {

/// Logits of every position in evaluation mode, on the CPU.
///
/// Shapes: tokens_BT, int64 with T <= context_tokens -> logits_BTV, float32 (double for a model of
///         double weights). Position t predicts token t + 1.
/// Cost:   computed `rows` rows at a time.
torch::Tensor logits_of(model::LanguageModel& model, const torch::Tensor& tokens_BT, int64_t rows);

}  // namespace windtunnel::evaluation
