#include "evaluation/generate.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/interrupt.h"

namespace windtunnel::evaluation {
namespace {

using torch::Tensor;

/// Logits of the token after the last one, on the CPU.
Tensor next_logits(model::LanguageModel& model, const std::vector<int32_t>& tokens) {
  const auto seen = std::min(static_cast<int64_t>(tokens.size()), model.config().context_tokens);
  const Tensor inputs = at::empty({1, seen}, at::kLong);
  std::copy(tokens.end() - seen, tokens.end(), inputs.mutable_data_ptr<int64_t>());
  const Tensor logits = model.forward(inputs.to(model.parameters().front().device())).logits_BTV;
  return logits[0][seen - 1].to(at::kCPU, at::kFloat);
}

int32_t sample(const Tensor& logits, const SamplingOptions& options, base::RandomStream& random) {
  if (options.temperature <= 0) return static_cast<int32_t>(logits.argmax().item<int64_t>());
  const int64_t vocabulary = logits.size(0);
  const int64_t count = options.top_k > 0 ? std::min(options.top_k, vocabulary) : vocabulary;
  const auto [best, ids] = at::topk(logits, count);
  const Tensor weights = at::softmax(best.to(at::kDouble) / options.temperature, 0);
  double left = random.uniform();
  for (int64_t i = 0; i < count; ++i) {
    left -= weights[i].item<double>();
    if (left < 0) return static_cast<int32_t>(ids[i].item<int64_t>());
  }
  return static_cast<int32_t>(ids[count - 1].item<int64_t>());
}

}  // namespace

void generate(model::LanguageModel& model, std::vector<int32_t> tokens, int32_t end,
              const SamplingOptions& options, base::RandomStream& random,
              const std::function<void(int32_t)>& emit) {
  base::check(!tokens.empty(), "a text starts with the begin-of-document token");
  const c10::InferenceMode no_gradients;
  model.eval();
  for (int64_t i = 0; i < options.max_tokens; ++i) {
    base::stop_if_interrupted();
    const int32_t token = sample(next_logits(model, tokens), options, random);
    if (token == end) return;
    emit(token);
    tokens.push_back(token);
  }
}

}  // namespace windtunnel::evaluation
