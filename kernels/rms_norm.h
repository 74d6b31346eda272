#pragma once
// x / sqrt(mean(x^2) + epsilon) over the last dimension, without a gain.

#include <torch/types.h>

namespace windtunnel::kernels {

/// Keeps a row of zeros finite; far below the mean square of any real row.
inline constexpr double kNormEpsilon = 1e-6;

/// Any shape; computed in at least fp32, returned in the type of x.
/// Source: Zhang and Sennrich 2019, arXiv:1910.07467.
torch::Tensor rms_norm(const torch::Tensor& x);
torch::Tensor rms_norm_reference(const torch::Tensor& x);

}  // namespace windtunnel::kernels
