#include "kernels/loops/routing.h"

#include <algorithm>
#include <cmath>
#include <memory>

#include "kernels/loops/lanes.h"

namespace windtunnel::kernels::loops {
namespace {

WINDTUNNEL_INLINE float sum_of(const float* values, int64_t E) {
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t e = 0; e < E; ++e) sum += values[e];
  return sum;
}

/// Softmax of a row; returns the logarithm of the sum of exponentials.
WINDTUNNEL_INLINE float softmax(const float* logits, int64_t E, float* p) {
  float highest = logits[0];
#pragma omp simd reduction(max : highest)
  for (int64_t e = 0; e < E; ++e) highest = logits[e] > highest ? logits[e] : highest;
#pragma omp simd
  for (int64_t e = 0; e < E; ++e) p[e] = exponential(logits[e] - highest);
  const float sum = sum_of(p, E);
  const float factor = 1.0f / sum;
#pragma omp simd
  for (int64_t e = 0; e < E; ++e) p[e] *= factor;
  return highest + std::log(sum);
}

WINDTUNNEL_INLINE void sigmoids(const float* logits, int64_t E, float* a) {
#pragma omp simd
  for (int64_t e = 0; e < E; ++e) a[e] = 1.0f / (1.0f + exponential(-logits[e]));
}

/// How many lie where a sigmoid hardly has a gradient.
WINDTUNNEL_INLINE int count_saturated(const float* a, int64_t E) {
  int count = 0;
#pragma omp simd reduction(+ : count)
  for (int64_t e = 0; e < E; ++e) count += (a[e] < 0.01f) | (a[e] > 0.99f);
  return count;
}

/// The K largest, best first; a NaN is never larger, so that K different numbers come out always.
WINDTUNNEL_INLINE void select(const float* values, int64_t E, int64_t K, bool* taken,
                              int64_t* experts) {
  std::fill_n(taken, E, false);
  for (int64_t k = 0; k < K; ++k) {
    int64_t best = -1;
    for (int64_t e = 0; e < E; ++e) {
      if (!taken[e] && (best < 0 || values[e] > values[best])) best = e;
    }
    taken[best] = true;
    experts[k] = best;
  }
}

}  // namespace

WINDTUNNEL_CLONES
void route_forward(const RoutingShape& shape, int64_t rows, const float* logits, const float* bias,
                   int64_t* experts, float* weights, RoutingSums& sums) {
  const int64_t E = shape.E, K = shape.K;
  sums.probabilities.assign(static_cast<size_t>(E), 0);
  sums.load.assign(static_cast<size_t>(E), 0);
  std::vector<float> p(static_cast<size_t>(E)), a(p), preference(p);
  const auto taken = std::make_unique<bool[]>(static_cast<size_t>(E));
  for (int64_t row = 0; row < rows; ++row, logits += E, experts += K, weights += K) {
    const float log_sum = softmax(logits, E, p.data());
    sums.squared_log_sums += static_cast<double>(log_sum) * log_sum;
    const float* scores = p.data();
    float normaliser = 1;
    if (shape.sigmoid) {
      sigmoids(logits, E, a.data());
      scores = a.data();
      normaliser = 1.0f / std::max(sum_of(scores, E), shape.smallest_sum);
      sums.saturated += count_saturated(scores, E);
    }
    const float* values = scores;
    if (bias) {
      for (int64_t e = 0; e < E; ++e) preference[static_cast<size_t>(e)] = scores[e] + bias[e];
      values = preference.data();
    }
    select(values, E, K, taken.get(), experts);
    float selected = 0;
    for (int64_t k = 0; k < K; ++k) selected += scores[experts[k]];
    selected = std::max(selected, shape.smallest_sum);
    for (int64_t k = 0; k < K; ++k) {
      weights[k] = scores[experts[k]] / selected;
      sums.load[static_cast<size_t>(experts[k])] += 1;
    }
    for (int64_t e = 0; e < E; ++e) {
      sums.probabilities[static_cast<size_t>(e)] += static_cast<double>(scores[e] * normaliser);
    }
  }
}

WINDTUNNEL_CLONES
void route_backward(const RoutingShape& shape, int64_t rows, const float* logits,
                    const int64_t* experts, const float* weights, const float* grad_weights,
                    const float* grad_probability, float grad_square, float* grad_logits) {
  const int64_t E = shape.E, K = shape.K;
  std::vector<float> p(static_cast<size_t>(E)), a(p), grad_score(p);
  float* grad = grad_score.data();
  for (int64_t row = 0; row < rows;
       ++row, logits += E, experts += K, weights += K, grad_weights += K, grad_logits += E) {
    const float log_sum = softmax(logits, E, p.data());
    const float* scores = p.data();
    // Probabilities are the scores over their sum A: d/ds_e = (g_e - sum of g p) / A.
    if (shape.sigmoid) {
      sigmoids(logits, E, a.data());
      scores = a.data();
      const float normaliser = 1.0f / std::max(sum_of(scores, E), shape.smallest_sum);
      float along = 0;
      for (int64_t e = 0; e < E; ++e) along += grad_probability[e] * scores[e] * normaliser;
      for (int64_t e = 0; e < E; ++e) grad[e] = (grad_probability[e] - along) * normaliser;
    } else {
      std::copy_n(grad_probability, E, grad);
    }
    // Weights are selected scores over their sum S, in the same way.
    float selected = 0, along = 0;
    for (int64_t k = 0; k < K; ++k) {
      selected += scores[experts[k]];
      along += grad_weights[k] * weights[k];
    }
    selected = std::max(selected, shape.smallest_sum);
    for (int64_t k = 0; k < K; ++k) grad[experts[k]] += (grad_weights[k] - along) / selected;
    const float of_log_sum = 2 * grad_square * log_sum;
    if (shape.sigmoid) {
      for (int64_t e = 0; e < E; ++e) {
        grad_logits[e] =
            grad[e] * scores[e] * (1.0f - scores[e]) + of_log_sum * p[static_cast<size_t>(e)];
      }
    } else {
      float mean = 0;
      for (int64_t e = 0; e < E; ++e) mean += grad[e] * scores[e];
      for (int64_t e = 0; e < E; ++e) grad_logits[e] = scores[e] * (grad[e] - mean + of_log_sum);
    }
  }
}

}  // namespace windtunnel::kernels::loops
