#include "kernels/loops/head_output.h"

#include <algorithm>

#include "kernels/loops/lanes.h"

namespace windtunnel::kernels::loops {
namespace {

/// Squared length below which a value has no direction: the 1e-12 of the reference, squared.
constexpr float kSmallestSquare = 1e-24f;

WINDTUNNEL_INLINE float dot(const float* a, const float* b, int64_t C) {
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t i = 0; i < C; ++i) sum += a[i] * b[i];
  return sum;
}

}  // namespace

WINDTUNNEL_CLONES
void head_output_forward(const HeadOutputShape& shape, int64_t first, int64_t last, const float* y,
                         const float* values, const float* gates, float* out) {
  const int64_t H = shape.H, G = shape.G, C = shape.C, share = H / G;
  for (int64_t token = first; token < last; ++token) {
    for (int64_t head = 0; head < H; ++head) {
      const float* y_head = y + (token * H + head) * C;
      const float* value = values + (token * G + head / share) * C;
      float* to = out + (token * H + head) * C;
      const float gate = gates ? gates[token * H + head] : 1.0f;
      const float along =
          shape.exclusive ? dot(y_head, value, C) / std::max(dot(value, value, C), kSmallestSquare)
                          : 0.0f;
#pragma omp simd
      for (int64_t i = 0; i < C; ++i) to[i] = gate * (y_head[i] - along * value[i]);
    }
  }
}

// With n = v'v, c = y'v / n and r = y - c v, out = gate r. For the gradient h = gate * grad_out of
// r: of y it is h - (h'v / n) v, and of v it is -(h'v / n) (y - 2 c v) - c h.
WINDTUNNEL_CLONES
void head_output_backward(const HeadOutputShape& shape, int64_t first, int64_t last, const float* y,
                          const float* values, const float* gates, const float* grad_out,
                          float* grad_y, float* grad_values, float* grad_gates) {
  const int64_t H = shape.H, G = shape.G, C = shape.C, share = H / G;
  for (int64_t token = first; token < last; ++token) {
    if (shape.exclusive) std::fill_n(grad_values + token * G * C, G * C, 0.0f);
    for (int64_t head = 0; head < H; ++head) {
      const int64_t at = (token * H + head) * C, value_at = (token * G + head / share) * C;
      const float *y_head = y + at, *value = values + value_at, *grad = grad_out + at;
      float* to = grad_y + at;
      const float gate = gates ? gates[token * H + head] : 1.0f;
      if (!shape.exclusive) {
        if (gates) grad_gates[token * H + head] = dot(grad, y_head, C);
#pragma omp simd
        for (int64_t i = 0; i < C; ++i) to[i] = gate * grad[i];
        continue;
      }
      const float inverse = 1.0f / std::max(dot(value, value, C), kSmallestSquare);
      const float along = dot(y_head, value, C) * inverse;
      const float grad_along = dot(grad, value, C) * inverse;
      if (gates) {
        grad_gates[token * H + head] = dot(grad, y_head, C) - along * dot(grad, value, C);
      }
      float* to_value = grad_values + value_at;
#pragma omp simd
      for (int64_t i = 0; i < C; ++i) {
        to[i] = gate * (grad[i] - grad_along * value[i]);
        to_value[i] -= gate * (grad_along * (y_head[i] - 2 * along * value[i]) + along * grad[i]);
      }
    }
  }
}

}  // namespace windtunnel::kernels::loops
