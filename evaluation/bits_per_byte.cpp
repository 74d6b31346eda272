#include "evaluation/bits_per_byte.h"

#include <numbers>

#include "base/clock.h"
#include "evaluation/token_nats.h"

namespace windtunnel::evaluation {

double bits_per_byte(double total_nats, int64_t bytes) {
  return total_nats / std::numbers::ln2 / static_cast<double>(bytes);
}

study::EvaluationResult evaluate(model::LanguageModel& model, const ScoredText& text, int64_t rows,
                                 const std::function<void(double)>& progress) {
  const double start = base::monotonic_seconds();
  study::EvaluationResult result;
  for (const float nats : token_nats(model, text, rows, progress)) result.total_nats += nats;
  result.bits_per_byte = bits_per_byte(result.total_nats, text.bytes);
  result.bytes = text.bytes;
  result.tokens = text.scored_tokens();
  result.documents = text.documents();
  result.validation_text_sha256 = text.sha256;
  for (const model::RouterHealth& health : model.router_health()) {
    result.router_health.push_back({.position = health.position,
                                    .load_entropy = health.load_entropy,
                                    .load_cv = health.load_cv,
                                    .max_load = health.max_load});
  }
  result.seconds = base::monotonic_seconds() - start;
  return result;
}

}  // namespace windtunnel::evaluation
