#include "trainer/upcoming_tokens.h"

#include "kernels/linear.h"

namespace windtunnel::trainer {

using torch::Tensor;

UpcomingTokens upcoming_tokens(const Tensor& targets_BT, int64_t window) {
  const int64_t rows = targets_BT.size(0), tokens = targets_BT.size(1);
  // Where the token of each position occurred last before it, or -1: in a stable sort, equal tokens
  // stand side by side in the order of their places.
  const auto [sorted, places] = targets_BT.sort(/*stable=*/true, 1, /*descending=*/false);
  Tensor before = at::full({rows, tokens}, -1, targets_BT.options());
  if (tokens > 1) {
    const Tensor same = sorted.narrow(1, 1, tokens - 1).eq(sorted.narrow(1, 0, tokens - 1));
    before.narrow(1, 1, tokens - 1)
        .copy_(at::where(same, places.narrow(1, 0, tokens - 1), before.narrow(1, 1, tokens - 1)));
  }
  const Tensor last_BT = at::empty_like(targets_BT).scatter_(1, places, before);

  // A place past the end counts as one whose token was just there.
  const auto windows = [&](const Tensor& values_BT, int64_t past_end) {
    const Tensor padding = at::full({rows, window - 1}, past_end, values_BT.options());
    return at::cat({values_BT, padding}, 1).unfold(1, window, 1);
  };
  const Tensor position_T1 = at::arange(tokens, targets_BT.options()).unsqueeze(1);
  return {.tokens_BTW = windows(targets_BT, 0),
          .is_first_BTW = windows(last_BT, tokens).lt(position_T1)};
}

UpcomingTokensObjective::UpcomingTokensObjective(const ObjectiveSetting& setting, int64_t window,
                                                 double weight)
    : Objective(setting), window_(window), weight_(weight) {
  const auto& model = setting.config.model;
  head_VD_ = add_parameter(
      "head", model::ParameterRole::kHead,
      setting.weights.draw("head", {model.vocabulary_size, model.width}, model.width));
}

Tensor UpcomingTokensObjective::extra_loss(const StepPart& part) const {
  const Tensor product_BTV = kernels::linear(part.hidden_BTD, {head_VD_});
  const Tensor scores_BTV =
      product_BTV.scalar_type() == at::kDouble ? product_BTV : product_BTV.to(at::kFloat);
  return loss_BT(scores_BTV, upcoming_tokens(part.targets_BT, window_)).mean() *
         (weight_ * part.share);
}

}  // namespace windtunnel::trainer
