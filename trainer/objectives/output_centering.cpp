// Output-embedding centring: keeps mu, the mean row of the unembedding, at zero. A common part of
// all rows adds the same number to all logits, which no probability depends on but which can grow
// without limit.
//
//   center   after each update: every row minus mu (mu-centering)
//   loss     weight |mu|^2 beside the cross-entropy (mu-loss)
//
// Source: Stollenwerk et al. 2026, arXiv:2601.02031.
// Cost:   a pass over the head per step.
//
// V vocabulary, D width.

#include "trainer/objective.h"

namespace windtunnel::trainer {
namespace {

using torch::Tensor;

class OutputCentering final : public Objective {
 public:
  explicit OutputCentering(const ObjectiveSetting& setting)
      : Objective(setting), options_(setting.config.train.objectives.output_centering) {}

  Tensor extra_loss(const StepPart& part) const override {
    if (options_.kind != "loss") return {};
    const Tensor mean_D = model().head_VD().mean(0);
    return mean_D.square().sum() * (options_.weight * part.share);
  }

  void after_optimizer_step() override {
    if (options_.kind != "center") return;
    Tensor head_VD = model().head_VD();
    head_VD.sub_(head_VD.mean(0));
  }

 private:
  study::OutputCenteringOptions options_;
};

const base::Registration<ObjectiveFactory> registration{
    {.name = "output_centering",
     .summary = "see the objective kind",
     .entry = {.make = [](const ObjectiveSetting& setting) -> std::unique_ptr<Objective> {
       return std::make_unique<OutputCentering>(setting);
     }}}};

}  // namespace
}  // namespace windtunnel::trainer
