#pragma once
// The feed-forward experts that each token visits: gather by expert, three products per expert,
// weighted sum back to the tokens. No token is dropped.

#include <torch/types.h>

namespace windtunnel::kernels {

// N tokens of width D, E experts with H hidden units, K assignments per token. Matrices are
// [experts, outputs, inputs].
struct ExpertMatrices {
  torch::Tensor gate_EHD, up_EHD, down_EDH;
};

/// residual_n + sum over k of weights_nk * down_e (silu(gate_e x_n) * up_e x_n), e = experts_nk.
///
/// Shapes:  residual_ND, x_ND, experts_NK int64 in [0, E), weights_NK -> [N, D] in the type of x.
///          Gradients flow to all but `experts`.
/// Cost:    on a GPU nothing waits for the device and no shape depends on the loads: bfloat16 takes
///          a grouped product, every other type the blocks below.
/// Source:  Gale et al. 2022, arXiv:2211.15841 (dropless); differs: no block-sparse product.
torch::Tensor expert_feed_forward(const torch::Tensor& residual_ND, const torch::Tensor& x_ND,
                                  const ExpertMatrices& matrices, const torch::Tensor& experts_NK,
                                  const torch::Tensor& weights_NK);
torch::Tensor expert_feed_forward_reference(const torch::Tensor& residual_ND,
                                            const torch::Tensor& x_ND,
                                            const ExpertMatrices& matrices,
                                            const torch::Tensor& experts_NK,
                                            const torch::Tensor& weights_NK);

/// The same with the rows of each expert padded to whole blocks of one size, some 4 an expert: what
/// a GPU computes where it has no grouped product.
///
/// Cost:    an eighth more products than rows need, five copies of each matrix.
torch::Tensor expert_feed_forward_by_blocks(const torch::Tensor& residual_ND,
                                            const torch::Tensor& x_ND,
                                            const ExpertMatrices& matrices,
                                            const torch::Tensor& experts_NK,
                                            const torch::Tensor& weights_NK);

/// Assignments per expert, fp32 [E], on the device of `experts`, without waiting for it.
torch::Tensor expert_load(const torch::Tensor& experts_NK, int64_t num_experts);

}  // namespace windtunnel::kernels
