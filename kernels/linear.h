#pragma once
// Products with weight matrices, several matrices at once where they read the same input.

#include <torch/types.h>

namespace windtunnel::kernels {

/// x W' for the matrices stacked on each other, e.g. queries, keys and values in one product.
///
/// Shapes:  x [..., I], weights [O_i, I] -> [..., sum of O_i] in the type of x; weights are cast.
torch::Tensor linear(const torch::Tensor& x, const std::vector<torch::Tensor>& weights);
torch::Tensor linear_reference(const torch::Tensor& x, const std::vector<torch::Tensor>& weights);

/// residual + x W'. Shapes: residual [..., O], x [..., I], weight [O, I] -> [..., O].
torch::Tensor linear_add(const torch::Tensor& residual, const torch::Tensor& x,
                         const torch::Tensor& weight);
torch::Tensor linear_add_reference(const torch::Tensor& residual, const torch::Tensor& x,
                                   const torch::Tensor& weight);

}  // namespace windtunnel::kernels
