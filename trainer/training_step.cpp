#include "trainer/training_step.h"

#include <algorithm>

#include "kernels/cross_entropy.h"

namespace windtunnel::trainer {
namespace {

using torch::Tensor;

/// Keeps a step whose tokens all have the weight 0 finite.
constexpr double kTinyWeight = 1e-12;

void add(Tensor& sum, const Tensor& term) {
  if (term.defined()) sum = sum.defined() ? sum + term : term;
}

/// The gradients of one step, micro-batch by micro-batch.
class Gradients {
 public:
  /// tokens: [rows, T + 1], `rows` of them at once.
  Gradients(model::LanguageModel& model, const Objectives& objectives, const Tensor& tokens,
            int64_t rows, int64_t step, double progress, const EmbeddingNoise& noise)
      : model_(model), objectives_(objectives), noise_(noise), rows_(rows), step_index_(step) {
    const int64_t context = tokens.size(1) - 1;
    step_.tokens_BT = tokens.narrow(1, 0, context);
    step_.targets_BT = tokens.narrow(1, 1, context);
    step_.progress = progress;
  }

  /// Adds all to the parameters; returns the mean cross-entropy.
  Tensor accumulate() {
    if (!objectives_.empty()) prepare_weights();
    Tensor loss = at::zeros({}, step_.tokens_BT.options().dtype(at::kFloat));
    for (int64_t row = 0; row < step_.tokens_BT.size(0); row += rows_) loss += accumulate(row);
    return loss;
  }

 private:
  struct Pass {
    StepPart part;
    Tensor auxiliary_loss;
    /// One per token.
    Tensor nats;
  };

  Pass forward(int64_t row) const {
    const int64_t count = std::min(rows_, step_.tokens_BT.size(0) - row);
    const Tensor tokens_BT = step_.tokens_BT.narrow(0, row, count).contiguous();
    const Tensor targets_BT = step_.targets_BT.narrow(0, row, count);
    const model::ModelOutput output = model_.forward(tokens_BT, noise_.of_rows(step_index_, row));
    const Tensor nats =
        kernels::cross_entropy(output.logits_BTV.flatten(0, 1), targets_BT.reshape({-1}));
    const double share = static_cast<double>(count) / static_cast<double>(step_.tokens_BT.size(0));
    return {.part = {.tokens_BT = tokens_BT,
                     .targets_BT = targets_BT,
                     .hidden_BTD = output.hidden_BTD,
                     .logits_BTV = output.logits_BTV,
                     .share = share,
                     .step = step_},
            .auxiliary_loss = output.auxiliary_loss,
            .nats = nats};
  }

  bool is_whole() const { return rows_ >= step_.tokens_BT.size(0); }

  void prepare_weights() {
    if (objectives_.weigh_by_loss()) {
      if (is_whole()) return;  // the only forward pass gives the losses
      measure_losses();
    }
    set_weights();
  }

  /// Without gradients, and without counting for the routers.
  void measure_losses() {
    const torch::NoGradGuard no_grad;
    const bool was_training = model_.is_training();
    model_.eval();
    std::vector<Tensor> nats;
    for (int64_t row = 0; row < step_.tokens_BT.size(0); row += rows_) {
      nats.push_back(forward(row).nats);
    }
    model_.train(was_training);
    step_.nats_BT = at::cat(nats).view(step_.tokens_BT.sizes());
  }

  void set_weights() {
    const torch::NoGradGuard no_grad;
    weights_BT_ = objectives_.token_weights_BT(step_);
    if (weights_BT_.defined()) total_weight_ = weights_BT_.sum().clamp_min(kTinyWeight);
  }

  /// The share of the plain cross-entropy that the rows from `row` on have.
  Tensor accumulate(int64_t row) {
    const Pass pass = forward(row);
    const double share = pass.part.share;
    const Tensor plain = pass.nats.mean();
    if (objectives_.weigh_by_loss() && is_whole()) {
      step_.nats_BT = pass.nats.detach().view(step_.tokens_BT.sizes());
      set_weights();
    }
    Tensor objective;
    if (!weights_BT_.defined()) objective = plain;
    add(objective, pass.auxiliary_loss);
    if (share != 1 && objective.defined()) objective = objective * share;
    if (weights_BT_.defined()) {
      const Tensor weights_BT = weights_BT_.narrow(0, row, pass.part.tokens_BT.size(0));
      add(objective, (pass.nats * weights_BT.reshape({-1})).sum() / total_weight_);
    }
    add(objective, objectives_.extra_loss(pass.part));
    objective.backward();
    return plain.detach() * share;
  }

  model::LanguageModel& model_;
  const Objectives& objectives_;
  const EmbeddingNoise& noise_;
  int64_t rows_;
  int64_t step_index_;
  StepBatch step_;
  /// Of the whole step; undefined: all 1.
  Tensor weights_BT_, total_weight_;
};

}  // namespace

StepResult training_step(model::LanguageModel& model, Objectives& objectives,
                         const std::vector<std::unique_ptr<Optimizer>>& optimizers,
                         const corpus::Batch& batch, const StepMoment& moment,
                         const StepOptions& options) {
  std::vector<Tensor> parameters;
  for (const auto& parameter : trained_parameters(model, objectives)) {
    parameters.push_back(parameter.tensor);
  }
  for (Tensor& parameter : parameters) parameter.mutable_grad().reset();

  Tensor tokens = at::from_blob(const_cast<int64_t*>(batch.tokens.data()),
                                {batch.rows, batch.columns}, at::kLong)
                      .to(options.device);
  model.set_compute_type(options.precision == "bfloat16" ? at::kBFloat16 : at::kFloat);
  tokens = objectives.cut_rows(tokens, moment.progress);
  const int64_t pieces = tokens.size(0) / batch.rows;
  const int64_t rows = options.micro_batch_rows > 0 ? options.micro_batch_rows : batch.rows;
  const Tensor loss = Gradients(model, objectives, tokens, rows * pieces, batch.index,
                                moment.progress, options.noise)
                          .accumulate();

  const at::NoGradGuard no_grad;
  std::vector<Tensor> gradients;
  for (const Tensor& parameter : parameters) gradients.push_back(parameter.grad());
  const GradientNorms norms = clip_gradients(gradients, options.gradient_clip_norm);
  for (const auto& optimizer : optimizers) optimizer->step(moment.learning_rate);
  model.after_optimizer_step();
  objectives.after_optimizer_step();
  return {.loss_nats_per_token = loss, .gradient_norms = norms};
}

NamedTensors weights_of(const model::LanguageModel& model) {
  NamedTensors weights;
  for (auto& parameter : model.parameters_with_roles()) {
    weights.emplace_back(parameter.name, parameter.tensor);
  }
  for (auto& [name, tensor] : model.state_buffers()) weights.emplace_back(name, tensor);
  return weights;
}

std::vector<model::Parameter> trained_parameters(const model::LanguageModel& model,
                                                 const Objectives& objectives) {
  std::vector<model::Parameter> all = model.parameters_with_roles();
  for (auto& parameter : objectives.parameters()) all.push_back(std::move(parameter));
  return all;
}

NamedTensors training_state(const model::LanguageModel& model, const Objectives& objectives,
                            const std::vector<std::unique_ptr<Optimizer>>& optimizers) {
  NamedTensors state = state_of(optimizers);
  for (auto& entry : objectives.state()) state.push_back(std::move(entry));
  for (auto& [name, counter] : model.health_counters()) {
    state.emplace_back("health." + name, counter);
  }
  return state;
}

}  // namespace windtunnel::trainer
