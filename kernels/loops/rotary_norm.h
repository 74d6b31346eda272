#pragma once
// Rotary positions and root-mean-square normalisation of queries and keys, in fp32 on a CPU core.

#include <cstdint>

namespace windtunnel::kernels::loops {

/// H query heads, G key heads and G value heads of size C in rows of (H + 2 G) C; T tokens a row
/// of the batch, whose angles are in cos and sin [T, C / 2].
struct RotaryShape {
  int64_t T = 0, H = 0, G = 0, C = 0;
  float epsilon = 0;
  const float *cos = nullptr, *sin = nullptr;
};

/// Tokens first..last of the flattened batch. `inverse` keeps 1 / rms of each of the H + G heads of
/// a token; queries come out multiplied by `query_scale`.
void rotary_norm_forward(const RotaryShape& shape, int64_t first, int64_t last, const float* qkv,
                         float query_scale, float* out, float* inverse);

/// Returns the gradient of query_scale.
double rotary_norm_backward(const RotaryShape& shape, int64_t first, int64_t last, const float* qkv,
                            const float* inverse, const float* grad_out, float query_scale,
                            float* grad_qkv);

}  // namespace windtunnel::kernels::loops
