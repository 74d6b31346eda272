// Future-bag summary: a second unembedding U says of each token of the vocabulary whether it comes
// within the next `window` places of the row, in whatever order.
//
//   loss_t = mean over v of the binary cross-entropy of sigmoid(U h_t)_v against "v comes"
//
// The published summary skips the next token and weights tokens by rarity; this one does neither,
// and is the mean over the vocabulary.
// Source: Mahajan et al. 2025, arXiv:2510.14751 (the handcrafted summary).
// Cost:   6 V D FLOPs per token; logits of the size of the model's.
//
// B rows, T tokens, D width, V vocabulary, W window.

#include "kernels/linear.h"
#include "trainer/objective.h"
#include "trainer/upcoming_tokens.h"

namespace windtunnel::trainer {
namespace {

using torch::Tensor;

class FutureBag final : public Objective {
 public:
  explicit FutureBag(const ObjectiveSetting& setting)
      : Objective(setting), options_(setting.config.train.objectives.future_bag) {
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
    // softplus(s) - s where the token comes, softplus(s) where it does not.
    const Tensor none_BT = at::softplus(scores_BTV).sum(-1);
    const Tensor bag_BT =
        (scores_BTV.gather(-1, upcoming.tokens_BTW) * upcoming.is_first_BTW).sum(-1);
    const Tensor loss_BT = (none_BT - bag_BT) / static_cast<double>(scores_BTV.size(-1));
    return loss_BT.mean() * (options_.weight * part.share);
  }

 private:
  study::FutureBagOptions options_;
  Tensor head_VD_;
};

const base::Registration<ObjectiveFactory> registration{
    {.name = "future_bag",
     .summary = "see the objective kind",
     .entry = {.make = [](const ObjectiveSetting& setting) -> std::unique_ptr<Objective> {
       return std::make_unique<FutureBag>(setting);
     }}}};

}  // namespace
}  // namespace windtunnel::trainer
