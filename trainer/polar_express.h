#pragma once
// Approximate orthogonalisation of stacks of matrices by matrix products only.

#include <torch/types.h>

#include <vector>

namespace windtunnel::trainer {

/// Replaces each matrix by one with the same singular vectors and singular values near 1: X is
/// divided by 1.02 |X|_F + 1e-6, then five steps X <- a X + b X (X'X) + c X (X'X)^2 follow.
///
/// On a GPU the steps run on X itself in bfloat16, as in the source. On a CPU they run in float32
/// on the Gram matrix of the smaller side, where they commute: Q accumulates the polynomials of G =
/// X'X and is applied to X once, so that a tall matrix costs two products of its own size instead
/// of ten, and matrices of different lengths share the steps when their smaller side is equal.
///
/// Shapes:  each entry [B, m, n], any m and n; the result has the same shapes, in float32.
/// Source:  Amsel et al. 2025, arXiv:2505.16932 (coefficients of the five steps, with a safety
/// factor
///          of 1.02). The Gram form is that of the gram-newton-schulz package; differs: no restart,
///          which float32 does not need.
std::vector<torch::Tensor> orthogonalize(const std::vector<torch::Tensor>& stacks);

}  // namespace windtunnel::trainer
