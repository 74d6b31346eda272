// Short-to-long sequence warm-up: the rows of a step are cut into shorter ones, as many more, so
// that a step keeps its tokens; the length grows with the budget's progress (study::row_tokens_at).
//
// Rotary positions and windows stay those of the full context. Shorter rows cost less attention and
// give early steps a smaller variance of the gradient.
// Source: Li et al. 2021, arXiv:2108.06084; Press et al. 2020, arXiv:2012.15832.
// Cost:   none; saves attention.

#include "study/objective_kind.h"
#include "trainer/objective.h"

namespace windtunnel::trainer {
namespace {

class SequenceWarmUp final : public Objective {
 public:
  explicit SequenceWarmUp(const ObjectiveSetting& setting)
      : Objective(setting), config_(setting.config) {}

  int64_t row_tokens(double progress, int64_t /*context_tokens*/) const override {
    return study::row_tokens_at(config_, progress);
  }

 private:
  study::RunConfig config_;
};

const base::Registration<ObjectiveFactory> registration{
    {.name = "sequence_warm_up",
     .summary = "see the objective kind",
     .entry = {.make = [](const ObjectiveSetting& setting) -> std::unique_ptr<Objective> {
       return std::make_unique<SequenceWarmUp>(setting);
     }}}};

}  // namespace
}  // namespace windtunnel::trainer
