#pragma once
// Top-K routing of tokens, in fp32 on a CPU core; see kernels/top_k_routing.h for the formulas.

#include <cstdint>
#include <vector>

namespace windtunnel::kernels::loops {

/// E experts, K visited; scores are sigmoids of the logits or their softmax.
struct RoutingShape {
  int64_t E = 0, K = 0;
  bool sigmoid = false;
  float smallest_sum = 0;
};

/// Sums over the rows of one call.
struct RoutingSums {
  std::vector<double> probabilities, load;
  double squared_log_sums = 0;
  /// Sigmoids outside [0.01, 0.99].
  double saturated = 0;
};

/// `bias` may be null.
void route_forward(const RoutingShape& shape, int64_t rows, const float* logits, const float* bias,
                   int64_t* experts, float* weights, RoutingSums& sums);

/// `grad_probability[e]` is the gradient of each token's probability of e, `grad_square` that of
/// each token's squared log-sum-exp.
void route_backward(const RoutingShape& shape, int64_t rows, const float* logits,
                    const int64_t* experts, const float* weights, const float* grad_weights,
                    const float* grad_probability, float grad_square, float* grad_logits);

}  // namespace windtunnel::kernels::loops
