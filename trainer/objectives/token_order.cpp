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

#include "kernels/linear.h"
#include "trainer/objective.h"
#include "trainer/upcoming_tokens.h"

namespace windtunnel::trainer {
namespace {

using torch::Tensor;

class TokenOrder final : public Objective {
 public:
  explicit TokenOrder(const ObjectiveSetting& setting)
      : Objective(setting), options_(setting.config.train.objectives.token_order) {
    const auto& model = setting.config.model;
    head_VD_ = add_parameter(
        "head", model::ParameterRole::kHead,
        setting.weights.draw("head", {model.vocabulary_size, model.width}, model.width));
  }

  Tensor extra_loss(const StepPart& part) const override {
    const Tensor product_BTV = kernels::linear(part.hidden_BTD, {head_VD_});
    const Tensor scores_BTV =
        product_BTV.scalar_type() == at::kDouble ? product_BTV : product_BTV.to(at::kFloat);
    const UpcomingTokens upcoming = upcoming_tokens(part.targets_BT, options_.window);
    const Tensor distance_W = at::arange(options_.window, scores_BTV.options());
    const Tensor wanted_BTW = distance_W.neg()
                                  .expand(upcoming.is_first_BTW.sizes())
                                  .masked_fill(upcoming.is_first_BTW.logical_not(), -INFINITY)
                                  .softmax(-1);
    const Tensor chosen_BTW = scores_BTV.gather(-1, upcoming.tokens_BTW);
    const Tensor loss_BT = scores_BTV.logsumexp(-1) - (wanted_BTW * chosen_BTW).sum(-1);
    return loss_BT.mean() * (options_.weight * part.share);
  }

 private:
  study::TokenOrderOptions options_;
  Tensor head_VD_;
};

const base::Registration<ObjectiveFactory> registration{
    {.name = "token_order",
     .summary = "see the objective kind",
     .entry = {.make = [](const ObjectiveSetting& setting) -> std::unique_ptr<Objective> {
       return std::make_unique<TokenOrder>(setting);
     }}}};

}  // namespace
}  // namespace windtunnel::trainer
