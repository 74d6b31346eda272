#pragma once
// Which tensors take the hand-written CPU code. Everything else (a GPU, double, bfloat16) takes the
// reference, which is written with LibTorch's operations and differentiates itself.

#include <ATen/Parallel.h>
#include <torch/types.h>

namespace windtunnel::kernels {

inline bool takes_fast_path(const torch::Tensor& tensor) {
  return tensor.device().is_cpu() && tensor.scalar_type() == torch::kFloat32;
}

/// Rows of `width` floats that are worth a thread of their own.
inline int64_t rows_per_thread(int64_t width) {
  return std::max<int64_t>(1, 16384 / std::max<int64_t>(1, width));
}

}  // namespace windtunnel::kernels
