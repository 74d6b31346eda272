#pragma once
// Uniform noise on the activations of a training step, at one of three sites. Evaluation never
// passes it to the model.

#include <torch/types.h>

#include "model/language_model.h"
#include "study/embedding_noise.h"

namespace windtunnel::trainer {

/// x + scale / sqrt(T D) u with u uniform in [-1, 1), at the site of the configuration.
///
/// Each row of each step has a random stream of its own, "embedding_noise/<step>/<row>" of the
/// run's seed: noise depends neither on micro-batches nor on interruptions. Source: Jain et al.
/// 2023, arXiv:2310.05914 (NEFTune). Cost:   a draw per value of the site and step, on the device,
/// without waiting for it.
class EmbeddingNoise {
 public:
  /// No noise.
  EmbeddingNoise() = default;
  EmbeddingNoise(const study::EmbeddingNoiseConfig& config, uint64_t seed)
      : config_(config), seed_(seed) {}

  /// For a forward pass over the rows from `first_row` on of step `step`; empty without noise.
  model::Disturbance of_rows(int64_t step, int64_t first_row) const;

 private:
  study::EmbeddingNoiseConfig config_;
  uint64_t seed_ = 0;
};

}  // namespace windtunnel::trainer
