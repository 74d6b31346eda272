#pragma once
// Rows divided by their root mean square, in fp32 on a CPU core.

#include <cstdint>

namespace windtunnel::kernels::loops {

/// y = x * s with s = 1 / sqrt(mean(x^2) + epsilon); s is kept per row.
void rms_norm_forward(const float* x, int64_t rows, int64_t width, float epsilon, float* y,
                      float* scale);

/// dx = s (g - y mean(g y)).
void rms_norm_backward(const float* y, const float* scale, const float* grad_y, int64_t rows,
                       int64_t width, float* grad_x);

}  // namespace windtunnel::kernels::loops
