#include "evaluation/token_nats.h"

#include <algorithm>

#include "base/interrupt.h"
#include "kernels/cross_entropy.h"

namespace windtunnel::evaluation {

std::vector<Window> windows_of(const ScoredText& text, int64_t context) {
  std::vector<Window> windows;
  for (int64_t i = 0; i < text.documents(); ++i) {
    const int64_t last = text.document_starts[i + 1] - 1;  // has no successor in its document
    for (int64_t first = text.document_starts[i]; first < last; first += context) {
      windows.push_back({first, std::min(context, last - first)});
    }
  }
  std::stable_sort(windows.begin(), windows.end(),
                   [](const Window& a, const Window& b) { return a.length > b.length; });
  return windows;
}

namespace {

using torch::Tensor;

/// Negative log-probabilities [rows, columns] of the targets.
Tensor score(model::LanguageModel& model, const Tensor& inputs, const Tensor& targets) {
  const auto device = model.parameters().front().device();
  const Tensor logits = model.forward(inputs.to(device)).logits_BTV;
  const Tensor nats = kernels::cross_entropy(logits, targets.to(device));
  return nats.to(at::kCPU, at::kFloat).contiguous();
}

void score_windows(model::LanguageModel& model, const ScoredText& text,
                   const std::vector<Window>& windows, std::vector<float>& nats) {
  const auto rows = static_cast<int64_t>(windows.size());
  const int64_t columns = windows.front().length;
  const Tensor inputs = at::empty({rows, columns}, at::kLong);
  const Tensor targets = at::empty({rows, columns}, at::kLong);
  auto input = inputs.accessor<int64_t, 2>();
  auto target = targets.accessor<int64_t, 2>();
  for (int64_t row = 0; row < rows; ++row) {
    const Window& window = windows[static_cast<size_t>(row)];
    for (int64_t column = 0; column < columns; ++column) {
      const auto place = static_cast<size_t>(window.first + column % window.length);
      input[row][column] = text.tokens[place];
      target[row][column] = text.tokens[place + 1];
    }
  }
  const Tensor scores = score(model, inputs, targets);
  for (int64_t row = 0; row < rows; ++row) {
    const Window& window = windows[static_cast<size_t>(row)];
    const float* from = scores.const_data_ptr<float>() + row * columns;
    std::copy(from, from + window.length, nats.begin() + window.first + 1);
  }
}

}  // namespace

std::vector<float> token_nats(model::LanguageModel& model, const ScoredText& text, int64_t rows,
                              const std::function<void(double)>& progress) {
  const c10::InferenceMode no_gradients;
  model.eval();
  model.reset_router_health();
  const int64_t context = model.config().context_tokens;
  std::vector<float> nats(text.tokens.size(), 0);
  std::vector<Window> together;
  int64_t done = 0;
  const auto flush = [&] {
    base::stop_if_interrupted();
    score_windows(model, text, together, nats);
    for (const Window& window : together) done += window.length;
    if (progress) progress(static_cast<double>(done) / static_cast<double>(text.scored_tokens()));
    together.clear();
  };
  for (const Window& window : windows_of(text, context)) {
    const auto next = static_cast<int64_t>(together.size()) + 1;
    if (!together.empty() && next * together.front().length > rows * context) flush();
    together.push_back(window);
  }
  if (!together.empty()) flush();
  return nats;
}

}  // namespace windtunnel::evaluation
