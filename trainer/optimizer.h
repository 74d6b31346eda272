#pragma once
// The contract of an optimizer. One file each in trainer/optimizers/, registered at its bottom.

#include <torch/types.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/registry.h"
#include "model/language_model.h"
#include "study/run_config.h"

namespace windtunnel::trainer {

using NamedTensors = std::vector<std::pair<std::string, torch::Tensor>>;

/// Updates a group of parameters in place.
///
/// State: an optimizer may move its parameters into storage of its own (set_data), so it is made
/// after the model is on its device, and only one is alive for a parameter.
class Optimizer {
 public:
  virtual ~Optimizer() = default;

  /// One update from the gradients of the parameters, which are all defined. `learning_rate` is
  /// AdamW's of this step; others scale it. Call under no_grad.
  virtual void step(double learning_rate) = 0;

  /// Everything that step() changes besides the parameters, under stable names; the tensors share
  /// storage with the optimizer, so copying into them restores it bit for bit.
  virtual NamedTensors state() const = 0;
};

struct OptimizerKind {
  std::unique_ptr<Optimizer> (*make)(const std::vector<model::Parameter>& parameters,
                                     const study::OptimizerConfig& config);
};

using OptimizerKinds = base::Registry<OptimizerKind>;

/// config.matrices for weight matrices (experts and routers too), AdamW for embedding, head, gates
/// and scalars; groups go by ParameterRole.
std::vector<std::unique_ptr<Optimizer>> make_optimizers(
    const std::vector<model::Parameter>& parameters, const study::OptimizerConfig& config);

/// The states of all, each name preceded by the place of its optimizer in the list.
NamedTensors state_of(const std::vector<std::unique_ptr<Optimizer>>& optimizers);

}  // namespace windtunnel::trainer
