#include "evaluation/logits.h"

#include <algorithm>

#include "base/interrupt.h"

namespace windtunnel::evaluation {

torch::Tensor logits_of(model::LanguageModel& model, const torch::Tensor& tokens_BT, int64_t rows) {
  const c10::InferenceMode no_gradients;
  model.eval();
  const auto device = model.parameters().front().device();
  torch::Tensor logits_BTV;
  for (int64_t row = 0; row < tokens_BT.size(0); row += rows) {
    base::stop_if_interrupted();
    const int64_t count = std::min(rows, tokens_BT.size(0) - row);
    const auto part = model.forward(tokens_BT.narrow(0, row, count).to(device)).logits_BTV.cpu();
    if (!logits_BTV.defined()) {
      logits_BTV = at::empty({tokens_BT.size(0), part.size(1), part.size(2)}, part.options());
    }
    logits_BTV.narrow(0, row, count).copy_(part);
  }
  return logits_BTV;
}

}  // namespace windtunnel::evaluation
