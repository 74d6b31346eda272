#pragma once
// The contract of a training objective, and all objectives of a run together.
//
// An objective changes what a step trains for: it weights the tokens of the cross-entropy, adds a
// loss with weights of its own, cuts rows, or acts after the step. One file each in
// trainer/objectives/, registered at its bottom under the name that its other half has
// (study/objective_kind.h: options, rules, costs). Objectives that are on compose:
//
//   loss of a step = sum(w nats) / sum(w) + extra losses + auxiliary losses of the model
//
// with w the product of all token weights. Nothing of an objective is part of the model: weights
// of its own are kept for resuming only, so evaluation, export and generation know nothing of it.
//
// B rows, T tokens, D width, V vocabulary.

#include <torch/types.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/registry.h"
#include "corpus/tokenizer.h"
#include "model/language_model.h"
#include "model/layer.h"
#include "study/run_config.h"
#include "trainer/optimizer.h"

namespace windtunnel::trainer {

/// All rows of one optimizer step, before they are divided into micro-batches.
struct StepBatch {
  /// int64; targets are the tokens one place later.
  torch::Tensor tokens_BT, targets_BT;
  /// Cross-entropy of each token, without gradient. Only defined if an objective weighs by loss.
  torch::Tensor nats_BT;
  /// Of the budget, in [0, 1].
  double progress = 1;
};

/// Some rows of a step, after their forward pass.
struct StepPart {
  torch::Tensor tokens_BT, targets_BT;
  /// What the head read and gave, with gradients.
  torch::Tensor hidden_BTD, logits_BTV;
  /// These rows over the rows of the step.
  double share = 1;
  const StepBatch& step;
};

struct ObjectiveSetting {
  /// Resolved.
  const study::RunConfig& config;
  /// Outlives the objective; its device and type are those of the objective's weights.
  model::LanguageModel& model;
  /// Reads the corpus's tokenizer.
  std::function<corpus::Tokenizer()> tokenizer;
  /// "objectives.<kind>."
  std::string prefix = {};
  /// Initial weights, from streams of the objective's own.
  model::WeightSource weights = {0, ""};
};

class Objective {
 public:
  explicit Objective(const ObjectiveSetting& setting)
      : model_(setting.model), prefix_(setting.prefix) {}
  virtual ~Objective() = default;
  Objective(const Objective&) = delete;
  Objective& operator=(const Objective&) = delete;

  /// Length into which rows are cut at `progress`; must divide `context_tokens`, the full one.
  virtual int64_t row_tokens(double /*progress*/, int64_t context_tokens) const {
    return context_tokens;
  }

  /// Factors >= 0 on the nats of all tokens of a step; undefined: all 1. A function of the whole
  /// step, so that it does not matter how the step is divided into micro-batches.
  virtual torch::Tensor token_weights_BT(const StepBatch& /*step*/) const { return {}; }

  /// A loss beside the cross-entropy, a scalar; undefined: none. The values of all parts add up to
  /// the loss of the step, so a mean over the part's rows is to be multiplied by part.share.
  virtual torch::Tensor extra_loss(const StepPart& /*part*/) const { return {}; }

  /// Called once after each update, without gradients.
  virtual void after_optimizer_step() {}

  /// Weights of its own, by names that start with the prefix; the optimizers go by their roles.
  const std::vector<model::Parameter>& parameters() const { return parameters_; }

 protected:
  torch::Tensor add_parameter(const std::string& name, model::ParameterRole role,
                              const torch::Tensor& value);
  model::LanguageModel& model() const { return model_; }

 private:
  model::LanguageModel& model_;
  std::string prefix_;
  std::vector<model::Parameter> parameters_;
};

struct ObjectiveFactory {
  std::unique_ptr<Objective> (*make)(const ObjectiveSetting& setting);
};

using ObjectiveFactories = base::Registry<ObjectiveFactory>;

/// The objectives of a run that are on; none by default, and then nothing is computed.
class Objectives {
 public:
  Objectives() = default;
  /// Those that are on in setting.config; prefix and weights of the setting are filled in for each.
  /// The model is on its device already.
  explicit Objectives(const ObjectiveSetting& setting);

  bool empty() const { return objectives_.empty(); }
  bool weigh_by_loss() const { return weigh_by_loss_; }

  /// [rows, T + 1] -> [rows T / t, t + 1], t the shortest length that an objective asks for; each
  /// piece's last target is the first input of the next.
  torch::Tensor cut_rows(const torch::Tensor& tokens, double progress) const;
  /// The product of all weights; undefined if nobody weighs.
  torch::Tensor token_weights_BT(const StepBatch& step) const;
  /// The sum of all extra losses; undefined if there is none.
  torch::Tensor extra_loss(const StepPart& part) const;
  void after_optimizer_step();

  std::vector<model::Parameter> parameters() const;
  /// The same by name, as checkpoints keep them.
  NamedTensors state() const;

 private:
  std::vector<std::unique_ptr<Objective>> objectives_;
  bool weigh_by_loss_ = false;
};

/// The objectives of a run whose model is on its device already; those that need it read the
/// tokenizer of the run's corpus. `model` outlives them.
Objectives objectives_of(const study::RunConfig& config, model::LanguageModel& model);

}  // namespace windtunnel::trainer
