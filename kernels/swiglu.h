#pragma once
// silu(gate) * up, the gated unit of feed-forward layers.

#include <torch/types.h>

namespace windtunnel::kernels {

/// gate_up[..., 2H], the gate in the first half -> [..., H].
/// Source: Shazeer 2020, arXiv:2002.05202.
torch::Tensor swiglu(const torch::Tensor& gate_up);
torch::Tensor swiglu_reference(const torch::Tensor& gate_up);

}  // namespace windtunnel::kernels
