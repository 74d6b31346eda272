#pragma once
// Euclidean norms of gradients: for clipping, and to see which layer they come from.

#include <torch/types.h>

#include <map>
#include <vector>

#include "model/language_model.h"

namespace windtunnel::trainer {

/// On the device: reading them waits for it.
struct GradientNorms {
  /// Of all together, a scalar.
  torch::Tensor global;
  /// Of each tensor.
  torch::Tensor each_P;
};

/// Scales the gradients down to a global norm of `limit` where it is larger and returns the norms
/// before.
GradientNorms clip_gradients(const std::vector<torch::Tensor>& gradients, double limit);

/// By position in the pattern; parameters outside of layers are left out. `norms_P` belongs to
/// `parameters`, in their order. Waits for the device.
std::map<int, double> norms_of_layers(const std::vector<model::Parameter>& parameters,
                                      const torch::Tensor& norms_P);

}  // namespace windtunnel::trainer
