#include "evaluation/bits_per_byte.h"

#include <cmath>
#include <numbers>

#include "base/clock.h"
#include "evaluation/layer_health.h"
#include "evaluation/logits.h"
#include "evaluation/probes.h"
#include "evaluation/token_nats.h"

namespace windtunnel::evaluation {

double bits_per_byte(double total_nats, int64_t bytes) {
  return total_nats / std::numbers::ln2 / static_cast<double>(bytes);
}

std::optional<double> standard_error(const ScoredText& text, const std::vector<float>& nats) {
  const auto documents = text.document_bytes.size();
  if (documents < 2) return std::nullopt;
  std::vector<double> sums(documents);
  double total = 0;
  int64_t bytes = 0;
  for (size_t d = 0; d < documents; ++d) {
    const auto first = static_cast<size_t>(text.document_starts[d]);
    const auto last = static_cast<size_t>(text.document_starts[d + 1]);
    for (size_t i = first; i < last; ++i) sums[d] += nats[i];
    total += sums[d];
    bytes += text.document_bytes[d];
  }
  const double ratio = total / static_cast<double>(bytes);
  double squares = 0;
  for (size_t d = 0; d < documents; ++d) {
    const double off = sums[d] - ratio * static_cast<double>(text.document_bytes[d]);
    squares += off * off;
  }
  const auto n = static_cast<double>(documents);
  return bits_per_byte(std::sqrt(n / (n - 1) * squares), bytes);
}

namespace {

/// Over the tokens that have bytes by the source's count.
void add_source_figure(const ScoredText& text, const std::vector<float>& nats,
                       study::EvaluationResult& result) {
  if (text.source_bytes.empty()) return;
  double total = 0;
  int64_t bytes = 0;
  for (int64_t document = 0; document < text.documents(); ++document) {
    // The first token of a document is never a target.
    const auto first = static_cast<size_t>(text.document_starts[document] + 1);
    const auto last = static_cast<size_t>(text.document_starts[document + 1]);
    for (size_t i = first; i < last; ++i) {
      const int64_t length = text.source_bytes.at(static_cast<size_t>(text.tokens[i]));
      if (length == 0) continue;
      total += nats[i];
      bytes += length;
    }
  }
  if (bytes == 0) return;
  result.bytes_source = bytes;
  result.bits_per_byte_source = bits_per_byte(total, bytes);
}

}  // namespace

study::EvaluationResult evaluate(model::LanguageModel& model, const ScoredText& text, int64_t rows,
                                 const std::function<void(double)>& progress) {
  const double start = base::monotonic_seconds();
  study::EvaluationResult result;
  const std::vector<float> nats = token_nats(model, text, rows, progress);
  for (const float value : nats) result.total_nats += value;
  result.bits_per_byte = bits_per_byte(result.total_nats, text.bytes);
  result.standard_error = standard_error(text, nats);
  result.bytes = text.bytes;
  add_source_figure(text, nats, result);
  result.tokens = text.scored_tokens();
  result.documents = text.documents();
  result.validation_text_sha256 = text.sha256;
  result.router_health = router_health(model);
  const auto predict = [&](const torch::Tensor& tokens_BT) {
    return logits_of(model, tokens_BT, rows);
  };
  result.probes =
      probe(predict, text, nats, model.config().context_tokens, model.config().vocabulary_size);
  result.seconds = base::monotonic_seconds() - start;
  return result;
}

}  // namespace windtunnel::evaluation
