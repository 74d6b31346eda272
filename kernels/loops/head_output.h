#pragma once
// Plain loops of kernels/head_output.h.

#include <cstdint>

namespace windtunnel::kernels::loops {

// H query heads of size C in shares of `share` for each of G value heads; a token's outputs are H C
// floats apart, its values G C, its gates H.
struct HeadOutputShape {
  int64_t H, G, C;
  bool exclusive;
};

/// Tokens [first, last). `gates` may be null.
void head_output_forward(const HeadOutputShape& shape, int64_t first, int64_t last, const float* y,
                         const float* values, const float* gates, float* out);

/// Writes all of grad_y, grad_values (where exclusive) and grad_gates (where there are gates).
void head_output_backward(const HeadOutputShape& shape, int64_t first, int64_t last, const float* y,
                          const float* values, const float* gates, const float* grad_out,
                          float* grad_y, float* grad_values, float* grad_gates);

}  // namespace windtunnel::kernels::loops
