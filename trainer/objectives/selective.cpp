// Online selective cross-entropy: w = 1 for the share `keep` of a step's tokens with the largest
// loss, 0 for the others; tokens as hard as the easiest one kept are kept too.
//
// Rho-1 ranks tokens by their loss above that of a reference model, which tells what can be learned
// from what is noise. Here there is no reference: the ranking is by the loss itself, so noise is
// trained on first. The ranking is over all tokens of the step, whatever its micro-batches.
// Source: after Lin et al. 2024, arXiv:2404.07965.
// Cost:   a selection over the tokens of a step; with micro-batches a second forward pass.
//
// B rows, T tokens.

#include <algorithm>
#include <cmath>

#include "trainer/objective.h"

namespace windtunnel::trainer {
namespace {

using torch::Tensor;

class Selective final : public Objective {
 public:
  explicit Selective(const ObjectiveSetting& setting)
      : Objective(setting), keep_(setting.config.train.objectives.selective.keep) {}

  Tensor token_weights_BT(const StepBatch& step) const override {
    const Tensor nats = step.nats_BT.flatten();
    const int64_t kept =
        std::max<int64_t>(1, std::llround(keep_ * static_cast<double>(nats.numel())));
    const Tensor easiest =
        std::get<0>(nats.topk(kept, 0, /*largest=*/true, /*sorted=*/false)).min();
    return step.nats_BT.ge(easiest).to(nats.scalar_type());
  }

 private:
  double keep_;
};

const base::Registration<ObjectiveFactory> registration{
    {.name = "selective",
     .summary = "see the objective kind",
     .entry = {.make = [](const ObjectiveSetting& setting) -> std::unique_ptr<Objective> {
       return std::make_unique<Selective>(setting);
     }}}};

}  // namespace
}  // namespace windtunnel::trainer
