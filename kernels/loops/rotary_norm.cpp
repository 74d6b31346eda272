#include "kernels/loops/rotary_norm.h"

#include <cmath>
#include <cstring>

#include "kernels/loops/lanes.h"

// A rotation keeps the length, so the root mean square is taken before it.

namespace windtunnel::kernels::loops {

WINDTUNNEL_CLONES
void rotary_norm_forward(const RotaryShape& shape, int64_t first, int64_t last, const float* qkv,
                         float query_scale, float* out, float* inverse) {
  const int64_t C = shape.C, half = C / 2, heads = shape.H + shape.G;
  const int64_t features = (shape.H + 2 * shape.G) * C;
  for (int64_t token = first; token < last; ++token) {
    const float* x = qkv + token * features;
    float* y = out + token * features;
    const float* cos = shape.cos + token % shape.T * half;
    const float* sin = shape.sin + token % shape.T * half;
    for (int64_t head = 0; head < heads; ++head, x += C, y += C) {
      float sum = 0;
#pragma omp simd reduction(+ : sum)
      for (int64_t i = 0; i < C; ++i) sum += x[i] * x[i];
      const float scale = 1.0f / std::sqrt(sum / static_cast<float>(C) + shape.epsilon);
      inverse[token * heads + head] = scale;
      const float factor = head < shape.H ? scale * query_scale : scale;
#pragma omp simd
      for (int64_t i = 0; i < half; ++i) {
        const float a = x[i] * factor, b = x[i + half] * factor;
        y[i] = a * cos[i] - b * sin[i];
        y[i + half] = a * sin[i] + b * cos[i];
      }
    }
    std::memcpy(y, x, static_cast<size_t>(shape.G * C) * sizeof(float));
  }
}

WINDTUNNEL_CLONES
double rotary_norm_backward(const RotaryShape& shape, int64_t first, int64_t last, const float* qkv,
                            const float* inverse, const float* grad_out, float query_scale,
                            float* grad_qkv) {
  const int64_t C = shape.C, half = C / 2, heads = shape.H + shape.G;
  const int64_t features = (shape.H + 2 * shape.G) * C;
  double scale_sum = 0;
  for (int64_t token = first; token < last; ++token) {
    const float* x = qkv + token * features;
    const float* g = grad_out + token * features;
    float* d = grad_qkv + token * features;
    const float* cos = shape.cos + token % shape.T * half;
    const float* sin = shape.sin + token % shape.T * half;
    for (int64_t head = 0; head < heads; ++head, x += C, g += C, d += C) {
      // Turn the gradient back, then through y = x * inverse: d = inverse (g - n mean(g n)) with
      // n = x * inverse.
#pragma omp simd
      for (int64_t i = 0; i < half; ++i) {
        const float a = g[i], b = g[i + half];
        d[i] = a * cos[i] + b * sin[i];
        d[i + half] = b * cos[i] - a * sin[i];
      }
      float sum = 0;
#pragma omp simd reduction(+ : sum)
      for (int64_t i = 0; i < C; ++i) sum += d[i] * x[i];
      const float scale = inverse[token * heads + head];
      const float query = head < shape.H ? query_scale : 1.0f;
      if (head < shape.H) scale_sum += static_cast<double>(sum * scale);
      const float factor = scale * query;
      const float along = sum / static_cast<float>(C) * scale * scale;
#pragma omp simd
      for (int64_t i = 0; i < C; ++i) d[i] = factor * (d[i] - x[i] * along);
    }
    std::memcpy(d, g, static_cast<size_t>(shape.G * C) * sizeof(float));
  }
  return scale_sum;
}

}  // namespace windtunnel::kernels::loops
