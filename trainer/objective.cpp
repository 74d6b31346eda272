#include "trainer/objective.h"

#include <algorithm>
#include <filesystem>

#include "base/error.h"
#include "study/objective_kind.h"

namespace windtunnel::trainer {

using torch::Tensor;

Tensor Objective::add_parameter(const std::string& name, model::ParameterRole role,
                                const Tensor& value) {
  Tensor tensor = value.to(model_.head_VD().options().requires_grad(false)).requires_grad_();
  parameters_.push_back({prefix_ + name, tensor, role});
  return tensor;
}

Objectives::Objectives(const ObjectiveSetting& setting) {
  const auto seed = static_cast<uint64_t>(setting.config.train.seed);
  const uint64_t weights = base::RandomStream(seed, "objectives").next();
  for (const auto& kind : study::ObjectiveKinds::instance().kinds()) {
    if (!kind.entry.is_on(setting.config.train.objectives)) continue;
    ObjectiveSetting own = setting;
    own.prefix = "objectives." + kind.name + ".";
    own.weights = model::WeightSource(weights, own.prefix, setting.config.model.initialization);
    const auto& factory = ObjectiveFactories::instance().get(kind.name, "objective");
    objectives_.push_back(factory.entry.make(own));
    weigh_by_loss_ = weigh_by_loss_ || kind.entry.weighs_by_loss;
  }
}

Tensor Objectives::cut_rows(const Tensor& tokens, double progress) const {
  const int64_t context = tokens.size(1) - 1;
  int64_t length = context;
  for (const auto& objective : objectives_) {
    length = std::min(length, objective->row_tokens(progress, context));
  }
  if (length == context) return tokens;
  base::check(length > 0 && context % length == 0, "rows are cut into equal parts");
  return tokens.unfold(1, length + 1, length).flatten(0, 1);
}

Tensor Objectives::token_weights_BT(const StepBatch& step) const {
  Tensor product;
  for (const auto& objective : objectives_) {
    const Tensor weights_BT = objective->token_weights_BT(step);
    if (!weights_BT.defined()) continue;
    product = product.defined() ? product * weights_BT : weights_BT;
  }
  return product;
}

Tensor Objectives::extra_loss(const StepPart& part) const {
  Tensor sum;
  for (const auto& objective : objectives_) {
    const Tensor loss = objective->extra_loss(part);
    if (!loss.defined()) continue;
    sum = sum.defined() ? sum + loss : loss;
  }
  return sum;
}

void Objectives::after_optimizer_step() {
  const torch::NoGradGuard no_grad;
  for (const auto& objective : objectives_) objective->after_optimizer_step();
}

std::vector<model::Parameter> Objectives::parameters() const {
  std::vector<model::Parameter> all;
  for (const auto& objective : objectives_) {
    all.insert(all.end(), objective->parameters().begin(), objective->parameters().end());
  }
  return all;
}

NamedTensors Objectives::state() const {
  NamedTensors all;
  for (const auto& parameter : parameters()) all.emplace_back(parameter.name, parameter.tensor);
  return all;
}

Objectives objectives_of(const study::RunConfig& config, model::LanguageModel& model) {
  const std::filesystem::path corpus = config.data.corpus;
  return Objectives({.config = config, .model = model, .tokenizer = [corpus] {
                       return corpus::Tokenizer::load(corpus / "tokenizer.json");
                     }});
}

}  // namespace windtunnel::trainer
