// Token-order prediction: a second unembedding U ranks the tokens of the vocabulary by how soon
// they come.
//
//   loss_t = -sum_v softmax(y)_v log_softmax(U h_t)_v,   y_v = -distance to the next v
//
// over the distinct tokens of the next `window` places of the row; all others have y = -inf. This
// is the ListNet ranking loss; window - distance, as published, is the same to a softmax. Source:
// Zuhri et al. 2025, arXiv:2508.19228. Cost:   6 V D FLOPs per token; logits of the
// size of the model's.
//
// B rows, T tokens, D width, V vocabulary, W window.

#include <cmath>

#include "trainer/objective.h"
#include "trainer/upcoming_tokens.h"

namespace windtunnel::trainer {
namespace {

using torch::Tensor;

class TokenOrder final : public UpcomingTokensObjective {
 public:
  TokenOrder(const ObjectiveSetting& setting, const study::TokenOrderOptions& options)
      : UpcomingTokensObjective(setting, options.window, options.weight) {}

 private:
  Tensor loss_BT(const Tensor& scores_BTV, const UpcomingTokens& upcoming) const override {
    const Tensor distance_W = at::arange(upcoming.is_first_BTW.size(-1), scores_BTV.options());
    const Tensor wanted_BTW = distance_W.neg()
                                  .expand(upcoming.is_first_BTW.sizes())
                                  .masked_fill(upcoming.is_first_BTW.logical_not(), -INFINITY)
                                  .softmax(-1);
    const Tensor chosen_BTW = scores_BTV.gather(-1, upcoming.tokens_BTW);
    return scores_BTV.logsumexp(-1) - (wanted_BTW * chosen_BTW).sum(-1);
  }
};

const base::Registration<ObjectiveFactory> registration{
    {.name = "token_order",
     .summary = "see the objective kind",
     .entry = {.make = [](const ObjectiveSetting& setting) -> std::unique_ptr<Objective> {
       return std::make_unique<TokenOrder>(setting, setting.config.train.objectives.token_order);
     }}}};

}  // namespace
}  // namespace windtunnel::trainer
