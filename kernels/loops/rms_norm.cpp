#include "kernels/loops/rms_norm.h"

#include <cmath>

#include "kernels/loops/lanes.h"

namespace windtunnel::kernels::loops {

WINDTUNNEL_CLONES
void rms_norm_forward(const float* x, int64_t rows, int64_t width, float epsilon, float* y,
                      float* scale) {
  for (int64_t row = 0; row < rows; ++row, x += width, y += width) {
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < width; ++i) sum += x[i] * x[i];
    const float factor = 1.0f / std::sqrt(sum / static_cast<float>(width) + epsilon);
    scale[row] = factor;
#pragma omp simd
    for (int64_t i = 0; i < width; ++i) y[i] = x[i] * factor;
  }
}

WINDTUNNEL_CLONES
void rms_norm_backward(const float* y, const float* scale, const float* grad_y, int64_t rows,
                       int64_t width, float* grad_x) {
  for (int64_t row = 0; row < rows; ++row, y += width, grad_y += width, grad_x += width) {
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < width; ++i) sum += grad_y[i] * y[i];
    const float mean = sum / static_cast<float>(width);
    const float factor = scale[row];
#pragma omp simd
    for (int64_t i = 0; i < width; ++i) grad_x[i] = factor * (grad_y[i] - y[i] * mean);
  }
}

}  // namespace windtunnel::kernels::loops
