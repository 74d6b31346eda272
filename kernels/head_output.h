#pragma once
// What happens to the heads between attention and its output projection: exclusive self-attention
// and the headwise gate.

#include <torch/types.h>

#include "kernels/rotary_norm.h"

namespace windtunnel::kernels {

/// gate_h (y_h - (y_h . u) u) for each query head h, where u = v / |v| is the direction of the
/// token's own value in the head's group. Without `exclusive` the projection is left out, without
/// `gates_BTH` (undefined) the gate.
///
/// Shapes:  y_BTE with E = H C (what causal_attention gives), values_BTV with V = G C, gates_BTH
///          -> [B, T, H C] in the type of y. Lengths and projections are taken in fp32 or wider.
/// Source:  exclusive self-attention: Zhai 2026, arXiv:2603.09078; gate: Qiu et al. 2025,
///          arXiv:2505.06708.
torch::Tensor head_output(const torch::Tensor& y_BTE, const torch::Tensor& values_BTV,
                          const torch::Tensor& gates_BTH, const HeadLayout& heads, bool exclusive);
torch::Tensor head_output_reference(const torch::Tensor& y_BTE, const torch::Tensor& values_BTV,
                                    const torch::Tensor& gates_BTH, const HeadLayout& heads,
                                    bool exclusive);

}  // namespace windtunnel::kernels
