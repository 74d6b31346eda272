#include "trainer/optimizer.h"

namespace windtunnel::trainer {

std::vector<std::unique_ptr<Optimizer>> make_optimizers(
    const std::vector<model::Parameter>& parameters, const study::OptimizerConfig& config) {
  std::vector<model::Parameter> matrices;
  std::vector<model::Parameter> rest;
  for (const auto& parameter : parameters) {
    (model::trains_as_matrix(parameter.role) ? matrices : rest).push_back(parameter);
  }
  std::vector<std::unique_ptr<Optimizer>> optimizers;
  const auto add = [&](const std::string& kind, const std::vector<model::Parameter>& group) {
    if (group.empty()) return;
    const auto& found = OptimizerKinds::instance().get(kind, "optimizer");
    optimizers.push_back(found.entry.make(group, config));
  };
  add("adamw", rest);
  add(config.matrices, matrices);
  return optimizers;
}

NamedTensors state_of(const std::vector<std::unique_ptr<Optimizer>>& optimizers) {
  NamedTensors all;
  for (size_t i = 0; i < optimizers.size(); ++i) {
    for (auto& [name, tensor] : optimizers[i]->state()) {
      all.emplace_back(std::to_string(i) + "." + name, std::move(tensor));
    }
  }
  return all;
}

}  // namespace windtunnel::trainer
