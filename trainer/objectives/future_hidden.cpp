// Future-hidden prediction: a small predictor maps the hidden state at t to the one `ahead` places
// later.
//
//   p_t = rms_norm(h_t + W2 silu(W1 h_t)),   loss_t = mean over D of (p_t - stop(h_{t + ahead}))^2
//
// h is what the head reads, so it has mean square 1 already; the target gets no gradient. W2 starts
// at zero: the first prediction is that nothing changes. The published loss also tells the
// predictor which tokens come in between and matches the distributions of the next token; this one
// does neither. Source: after Teoh et al. 2025, arXiv:2511.05963 (next-latent prediction). Cost: 12
// D^2 FLOPs per token.
//
// B rows, T tokens, D width.

#include "kernels/linear.h"
#include "kernels/rms_norm.h"
#include "trainer/objective.h"

namespace windtunnel::trainer {
namespace {

using torch::Tensor;

class FutureHidden final : public Objective {
 public:
  explicit FutureHidden(const ObjectiveSetting& setting)
      : Objective(setting), options_(setting.config.train.objectives.future_hidden) {
    using enum model::ParameterRole;
    const int64_t width = setting.config.model.width;
    first_DD_ =
        add_parameter("first", kMatrix, setting.weights.draw("first", {width, width}, width));
    second_DD_ = add_parameter("second", kMatrix, at::zeros({width, width}));
  }

  Tensor extra_loss(const StepPart& part) const override {
    const int64_t positions = part.hidden_BTD.size(1) - options_.ahead;
    const Tensor now_BTD = part.hidden_BTD.narrow(1, 0, positions);
    const Tensor later_BTD = part.hidden_BTD.narrow(1, options_.ahead, positions).detach();
    const Tensor inner_BTD = at::silu(kernels::linear(now_BTD, {first_DD_}));
    const Tensor predicted_BTD =
        kernels::rms_norm(now_BTD + kernels::linear(inner_BTD, {second_DD_}));
    const Tensor error_BTD = predicted_BTD - later_BTD;
    const auto wide = error_BTD.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
    return error_BTD.to(wide).square().mean() * (options_.weight * part.share);
  }

 private:
  study::FutureHiddenOptions options_;
  Tensor first_DD_, second_DD_;
};

const base::Registration<ObjectiveFactory> registration{
    {.name = "future_hidden",
     .summary = "see the objective kind",
     .entry = {.make = [](const ObjectiveSetting& setting) -> std::unique_ptr<Objective> {
       return std::make_unique<FutureHidden>(setting);
     }}}};

}  // namespace
}  // namespace windtunnel::trainer
