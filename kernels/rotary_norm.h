#pragma once
// Rotary positions and normalisation of queries and keys, between the projection and attention.

#include <torch/types.h>

namespace windtunnel::kernels {

// B rows, T tokens, F = (H + 2 G) C features: H query heads, then G key heads, then G value heads
// of size C.
struct HeadLayout {
  int64_t query_heads = 0;
  int64_t kv_heads = 0;
  int64_t head_size = 0;
  int64_t features() const { return (query_heads + 2 * kv_heads) * head_size; }
};

/// Cosines and sines of the angles t / base^(2 i / C), each of shape [T, C / 2], in double.
struct RotaryTable {
  torch::Tensor cos, sin;
};
RotaryTable rotary_table(int64_t tokens, int64_t head_size, double base);

/// Turns the pairs (i, i + C/2) of each query and key head by the angles of its position, divides
/// each by its root mean square, and multiplies the queries by gain * scale. Values pass unchanged.
///
/// Shapes:  qkv_BTF -> the same; gain is a tensor of one element; the table has at least T rows.
/// Source:  Su et al. 2021, arXiv:2104.09864; Henry et al. 2020, arXiv:2010.04245 (root mean square
///          instead of the l2 norm).
torch::Tensor rotary_norm(const torch::Tensor& qkv_BTF, const torch::Tensor& gain,
                          const RotaryTable& table, const HeadLayout& heads, double scale);
torch::Tensor rotary_norm_reference(const torch::Tensor& qkv_BTF, const torch::Tensor& gain,
                                    const RotaryTable& table, const HeadLayout& heads,
                                    double scale);

}  // namespace windtunnel::kernels
