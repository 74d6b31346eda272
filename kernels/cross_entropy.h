#pragma once
// Negative log-probabilities from logits: the loss of training and the score of evaluation.

#include <torch/types.h>

namespace windtunnel::kernels {

/// log(sum exp(logits_n)) - logits_n[target_n] in fp32 (double for double), one value per token.
///
/// Shapes:  logits [..., V], targets int64 [...] in [0, V) -> [...]. Units: nats.
torch::Tensor cross_entropy(const torch::Tensor& logits, const torch::Tensor& targets);
torch::Tensor cross_entropy_reference(const torch::Tensor& logits, const torch::Tensor& targets);

}  // namespace windtunnel::kernels
