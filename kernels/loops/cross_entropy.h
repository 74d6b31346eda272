#pragma once
// Negative log-probabilities of targets and their gradient, in fp32 on a CPU core.

#include <cstdint>

namespace windtunnel::kernels::loops {

/// nats = log_sum - logit of the target; log_sum is kept per row.
void cross_entropy_forward(const float* logits, const int64_t* targets, int64_t rows, int64_t V,
                           float* log_sum, float* nats);

/// grad_logits = grad_nats (softmax - one at the target).
void cross_entropy_backward(const float* logits, const int64_t* targets, const float* log_sum,
                            const float* grad_nats, int64_t rows, int64_t V, float* grad_logits);

}  // namespace windtunnel::kernels::loops
