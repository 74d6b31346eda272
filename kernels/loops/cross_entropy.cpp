#include "kernels/loops/cross_entropy.h"

#include <cmath>

#include "kernels/loops/lanes.h"

namespace windtunnel::kernels::loops {

WINDTUNNEL_CLONES
void cross_entropy_forward(const float* logits, const int64_t* targets, int64_t rows, int64_t V,
                           float* log_sum, float* nats) {
  for (int64_t row = 0; row < rows; ++row, logits += V) {
    float highest = logits[0];
#pragma omp simd reduction(max : highest)
    for (int64_t i = 0; i < V; ++i) highest = logits[i] > highest ? logits[i] : highest;
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < V; ++i) sum += exponential(logits[i] - highest);
    log_sum[row] = highest + std::log(sum);
    nats[row] = log_sum[row] - logits[targets[row]];
  }
}

WINDTUNNEL_CLONES
void cross_entropy_backward(const float* logits, const int64_t* targets, const float* log_sum,
                            const float* grad_nats, int64_t rows, int64_t V, float* grad_logits) {
  for (int64_t row = 0; row < rows; ++row, logits += V, grad_logits += V) {
    const float shift = log_sum[row];
    const float grad = grad_nats[row];
#pragma omp simd
    for (int64_t i = 0; i < V; ++i) grad_logits[i] = grad * exponential(logits[i] - shift);
    grad_logits[targets[row]] -= grad;
  }
}

}  // namespace windtunnel::kernels::loops
