#pragma once
// softmax(q k') v over the last `window` tokens, the token itself included.

#include <torch/types.h>

#include "kernels/rotary_norm.h"

namespace windtunnel::kernels {

/// Query head h reads key and value head h / (H / G). The scale of the logits is in the queries.
///
/// Shapes:  qkv_BTF (see HeadLayout) -> [B, T, H C]. Position t sees keys max(0, t - window +
/// 1)..t. Source:  Vaswani et al. 2017, arXiv:1706.03762; Ainslie et al. 2023, arXiv:2305.13245.
torch::Tensor causal_attention(const torch::Tensor& qkv_BTF, const HeadLayout& heads,
                               int64_t window);
torch::Tensor causal_attention_reference(const torch::Tensor& qkv_BTF, const HeadLayout& heads,
                                         int64_t window);

}  // namespace windtunnel::kernels
