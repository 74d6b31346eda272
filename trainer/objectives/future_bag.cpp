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

#include "trainer/objective.h"
#include "trainer/upcoming_tokens.h"

namespace windtunnel::trainer {
namespace {

using torch::Tensor;

class FutureBag final : public UpcomingTokensObjective {
 public:
  FutureBag(const ObjectiveSetting& setting, const study::FutureBagOptions& options)
      : UpcomingTokensObjective(setting, options.window, options.weight) {}

 private:
  Tensor loss_BT(const Tensor& scores_BTV, const UpcomingTokens& upcoming) const override {
    // softplus(s) - s where the token comes, softplus(s) where it does not.
    const Tensor none_BT = at::softplus(scores_BTV).sum(-1);
    const Tensor bag_BT =
        (scores_BTV.gather(-1, upcoming.tokens_BTW) * upcoming.is_first_BTW).sum(-1);
    return (none_BT - bag_BT) / static_cast<double>(scores_BTV.size(-1));
  }
};

const base::Registration<ObjectiveFactory> registration{
    {.name = "future_bag",
     .summary = "see the objective kind",
     .entry = {.make = [](const ObjectiveSetting& setting) -> std::unique_ptr<Objective> {
       return std::make_unique<FutureBag>(setting, setting.config.train.objectives.future_bag);
     }}}};

}  // namespace
}  // namespace windtunnel::trainer
