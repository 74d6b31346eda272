// Row reweighting: w = exp(strength (L_row - mean of L over the rows)) for all tokens of a row, L
// the mean loss of its tokens.
//
// These are the weights of a gradient step on the tilted loss log(mean(exp(strength L))) /
// strength. Above 0 hard rows count more, up to their maximum alone; below 0 easy rows do, which is
// robust against rows that cannot be learned; 0 is the plain mean. A step of one row is not
// changed. Rows are those that the model sees, also where a sequence warm-up has cut them. Source:
// Li et al. 2021, arXiv:2007.01162 (tilted empirical risk); Sow et al. 2025, arXiv:2502.06733
// (weights by loss in pretraining). Cost:   with micro-batches a second forward pass.
//
// B rows, T tokens.

#include "trainer/objective.h"

namespace windtunnel::trainer {
namespace {

using torch::Tensor;

class RowWeights final : public Objective {
 public:
  explicit RowWeights(const ObjectiveSetting& setting)
      : Objective(setting), strength_(setting.config.train.objectives.row_weights.strength) {}

  Tensor token_weights_BT(const StepBatch& step) const override {
    const Tensor loss_B1 = step.nats_BT.mean(1, /*keepdim=*/true);
    // A softmax: the same weights up to a factor, which sum(w nats) / sum(w) does not see, and no
    // overflow. Times the rows, so that equal rows have the weight 1.
    const Tensor weights_B1 =
        (loss_B1 * strength_).softmax(0) * static_cast<double>(loss_B1.size(0));
    return weights_B1.expand_as(step.nats_BT);
  }

 private:
  double strength_;
};

const base::Registration<ObjectiveFactory> registration{
    {.name = "row_weights",
     .summary = "see the objective kind",
     .entry = {.make = [](const ObjectiveSetting& setting) -> std::unique_ptr<Objective> {
       return std::make_unique<RowWeights>(setting);
     }}}};

}  // namespace
}  // namespace windtunnel::trainer
