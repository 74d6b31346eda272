#pragma once
// Text from a model, one token after the other.

#include <cstdint>
#include <functional>
#include <vector>

#include "base/random.h"
#include "model/language_model.h"

namespace windtunnel::evaluation {

struct SamplingOptions {
  int64_t max_tokens = 200;
  /// Divides the logits; 0 takes the most likely token.
  double temperature = 0.8;
  /// Only the so many most likely tokens; 0: all.
  int64_t top_k = 50;
};

/// Continues `tokens` (at least one) and gives each new token to `emit` as it is drawn; stops after
/// max_tokens, or when the model draws `end`, which is not given. The model sees the last
/// context_tokens tokens. Same stream, same text.
void generate(model::LanguageModel& model, std::vector<int32_t> tokens, int32_t end,
              const SamplingOptions& options, base::RandomStream& random,
              const std::function<void(int32_t)>& emit);

}  // namespace windtunnel::evaluation
