#include "kernels/loops/swiglu.h"

#include "kernels/loops/lanes.h"

namespace windtunnel::kernels::loops {

WINDTUNNEL_CLONES
void swiglu_forward(const float* gate_up, const float* weight, int64_t rows, int64_t H, float* y) {
  for (int64_t row = 0; row < rows; ++row, gate_up += 2 * H, y += H) {
    const float factor = weight ? weight[row] : 1.0f;
    const float* gate = gate_up;
    const float* up = gate_up + H;
#pragma omp simd
    for (int64_t i = 0; i < H; ++i) {
      const float sigmoid = 1.0f / (1.0f + exponential(-gate[i]));
      y[i] = factor * gate[i] * sigmoid * up[i];
    }
  }
}

// d silu(g) / dg = s (1 + g (1 - s)) with s = sigmoid(g).
WINDTUNNEL_CLONES
void swiglu_backward(const float* gate_up, const float* weight, const float* grad_y, int64_t rows,
                     int64_t H, float* grad_gate_up, float* grad_weight) {
  for (int64_t row = 0; row < rows; ++row, gate_up += 2 * H, grad_gate_up += 2 * H, grad_y += H) {
    const float factor = weight ? weight[row] : 1.0f;
    const float* gate = gate_up;
    const float* up = gate_up + H;
    float* grad_gate = grad_gate_up;
    float* grad_up = grad_gate_up + H;
    // Without a sum in it, the compiler finishes this loop with half a vector instead of one by
    // one.
#pragma omp simd
    for (int64_t i = 0; i < H; ++i) {
      const float sigmoid = 1.0f / (1.0f + exponential(-gate[i]));
      const float silu = gate[i] * sigmoid;
      grad_up[i] = grad_y[i] * silu;
      grad_gate[i] = factor * grad_y[i] * up[i] * (sigmoid + silu * (1.0f - sigmoid));
    }
    if (!weight) continue;
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < H; ++i) {
      sum += grad_up[i] * up[i];
      grad_up[i] *= factor;
    }
    grad_weight[row] = sum;
  }
}

}  // namespace windtunnel::kernels::loops
