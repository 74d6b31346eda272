// Multi-token prediction: head i of n predicts the token i + 1 places ahead from the hidden state.
//
//   h^i_t = rms_norm(h_t + silu(W_i h_t)),   loss = mean over i and t of the cross-entropy of
//                                                   U h^i_t at the token of place t + 1 + i
//
// U is the model's own unembedding. A head is a residual block with one matrix, zero at first,
// where the paper has a transformer layer: it then starts as the model's own prediction. Positions
// whose token lies past the row are left out. The weight rises linearly from 0 at ramp_start to its
// full size at ramp_end, in progress of the budget. Source: Gloeckle et al. 2024, arXiv:2404.19737;
// Cai et al. 2024, arXiv:2401.10774 (the block). Cost:   6 (D^2 + V D) FLOPs per token and head;
// logits of the size of the model's per head.
//
// B rows, T tokens, D width, V vocabulary.

#include "kernels/cross_entropy.h"
#include "kernels/linear.h"
#include "kernels/rms_norm.h"
#include "trainer/objective.h"

namespace windtunnel::trainer {
namespace {

using torch::Tensor;

double ramped_weight(const study::MultiTokenOptions& options, double progress) {
  if (progress < options.ramp_start) return 0;
  if (progress >= options.ramp_end) return options.weight;
  return options.weight * (progress - options.ramp_start) / (options.ramp_end - options.ramp_start);
}

class MultiToken final : public Objective {
 public:
  explicit MultiToken(const ObjectiveSetting& setting)
      : Objective(setting), options_(setting.config.train.objectives.multi_token) {
    const int64_t width = setting.config.model.width;
    for (int64_t i = 0; i < options_.heads; ++i) {
      blocks_DD_.push_back(add_parameter("block" + std::to_string(i + 1),
                                         model::ParameterRole::kMatrix, at::zeros({width, width})));
    }
  }

  Tensor extra_loss(const StepPart& part) const override {
    Tensor sum;
    for (size_t i = 0; i < blocks_DD_.size(); ++i) {
      const Tensor loss = head_loss(part, blocks_DD_[i], static_cast<int64_t>(i) + 1);
      sum = sum.defined() ? sum + loss : loss;
    }
    if (!sum.defined()) return {};
    const double weight = ramped_weight(options_, part.step.progress);
    return sum * (weight * part.share / static_cast<double>(blocks_DD_.size()));
  }

 private:
  Tensor head_loss(const StepPart& part, const Tensor& block_DD, int64_t further) const {
    const int64_t positions = part.hidden_BTD.size(1) - further;
    const Tensor hidden_BTD = part.hidden_BTD.narrow(1, 0, positions);
    const Tensor own_BTD =
        kernels::rms_norm(hidden_BTD + at::silu(kernels::linear(hidden_BTD, {block_DD})));
    const Tensor logits_BTV = kernels::linear(own_BTD, {model().head_VD()});
    const Tensor targets_BT = part.targets_BT.narrow(1, further, positions);
    return kernels::cross_entropy(logits_BTV.flatten(0, 1), targets_BT.reshape({-1})).mean();
  }

  study::MultiTokenOptions options_;
  std::vector<Tensor> blocks_DD_;
};

const base::Registration<ObjectiveFactory> registration{
    {.name = "multi_token",
     .summary = "see the objective kind",
     .entry = {.make = [](const ObjectiveSetting& setting) -> std::unique_ptr<Objective> {
       return std::make_unique<MultiToken>(setting);
     }}}};

}  // namespace
}  // namespace windtunnel::trainer
