#pragma once
// Causal windowed attention of one row and one key and value head, in fp32 on a CPU core.

#include <cstdint>
#include <vector>

namespace windtunnel::kernels::loops {

/// T tokens, F features per token in qkv, H query heads of size C in the output; `share` query
/// heads read one key and value head.
struct AttentionRow {
  int64_t T = 0, F = 0, H = 0, C = 0, share = 1, window = 0;
};

/// Pointers to the first query head of the group, its key and its value head, in rows F apart.
struct AttentionInputs {
  const float *q, *k, *v;
};
struct AttentionGradients {
  float *q, *k, *v;
};

/// `out` points at the first head of the group in rows H C apart; `log_sum` at its [share, T].
void attention_forward(const AttentionRow& row, const AttentionInputs& in, float* out,
                       float* log_sum, std::vector<float>& scratch);

/// Recomputes the weights from `log_sum`. Writes (does not add to) the gradients.
void attention_backward(const AttentionRow& row, const AttentionInputs& in, const float* out,
                        const float* log_sum, const float* grad_out, const AttentionGradients& grad,
                        std::vector<float>& scratch);

}  // namespace windtunnel::kernels::loops
