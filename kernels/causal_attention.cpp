#include "kernels/causal_attention.h"

#include <torch/autograd.h>

#include "kernels/fast_path.h"
#include "kernels/loops/attention.h"

namespace windtunnel::kernels {
namespace {

/// q_BHTC, k_BGTC, v_BGTC as views of the merged tensor.
std::vector<torch::Tensor> split_heads(const torch::Tensor& qkv_BTF, const HeadLayout& heads) {
  auto parts = qkv_BTF.unflatten(-1, {-1, heads.head_size})
                   .split_with_sizes({heads.query_heads, heads.kv_heads, heads.kv_heads}, 2);
  for (auto& part : parts) part = part.transpose(1, 2);
  return parts;
}

/// [T, T], true where row t may see column s.
torch::Tensor visible_keys(int64_t T, int64_t window, torch::Device device) {
  const auto all = torch::ones({T, T}, torch::TensorOptions(torch::kBool).device(device));
  return all.tril().logical_and(all.triu(1 - window));
}

/// LibTorch's fused attention: flash or memory-efficient kernels on a GPU.
torch::Tensor library_attention(const torch::Tensor& qkv_BTF, const HeadLayout& heads,
                                int64_t window) {
  const auto parts = split_heads(qkv_BTF, heads);
  const int64_t T = qkv_BTF.size(1);
  const bool full = window >= T;
  const auto mask =
      full ? std::optional<torch::Tensor>() : visible_keys(T, window, qkv_BTF.device());
  const auto y_BHTC = at::scaled_dot_product_attention(
      parts[0], parts[1], parts[2], mask, /*dropout_p=*/0.0, /*is_causal=*/full, /*scale=*/1.0,
      /*enable_gqa=*/heads.query_heads != heads.kv_heads);
  return y_BHTC.transpose(1, 2).flatten(2);
}

struct CausalAttention : torch::autograd::Function<CausalAttention> {
  static loops::AttentionRow row_of(const torch::Tensor& qkv, const HeadLayout& heads,
                                    int64_t window) {
    return {.T = qkv.size(1),
            .F = qkv.size(2),
            .H = heads.query_heads,
            .C = heads.head_size,
            .share = heads.query_heads / heads.kv_heads,
            .window = std::min(window, qkv.size(1))};
  }

  /// Where the heads of task = row * kv_heads + kv head begin.
  struct Offsets {
    int64_t q, k, v, out, log_sum;
  };
  static Offsets offsets_of(const loops::AttentionRow& row, int64_t kv_heads, int64_t task) {
    const int64_t group = task % kv_heads, start = task / kv_heads * row.T * row.F;
    return {start + group * row.share * row.C, start + (row.H + group) * row.C,
            start + (row.H + kv_heads + group) * row.C,
            task / kv_heads * row.T * row.H * row.C + group * row.share * row.C,
            task * row.share * row.T};
  }

  static torch::Tensor forward(torch::autograd::AutogradContext* context,
                               const torch::Tensor& given, const HeadLayout& heads,
                               int64_t window) {
    const auto qkv = given.contiguous();
    const auto row = row_of(qkv, heads, window);
    const int64_t B = qkv.size(0);
    const auto out = torch::empty({B, row.T, row.H * row.C}, qkv.options());
    const auto log_sum = torch::empty({B, row.H, row.T}, qkv.options());
    at::parallel_for(0, B * heads.kv_heads, 1, [&](int64_t begin, int64_t end) {
      std::vector<float> scratch;
      const float* x = qkv.const_data_ptr<float>();
      for (int64_t task = begin; task < end; ++task) {
        const auto at = offsets_of(row, heads.kv_heads, task);
        loops::attention_forward(row, {x + at.q, x + at.k, x + at.v},
                                 out.mutable_data_ptr<float>() + at.out,
                                 log_sum.mutable_data_ptr<float>() + at.log_sum, scratch);
      }
    });
    context->save_for_backward({qkv, out, log_sum});
    context->saved_data["heads"] =
        std::vector<int64_t>{heads.query_heads, heads.kv_heads, heads.head_size, window};
    return out;
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list grads) {
    const auto saved = context->get_saved_variables();
    const auto &qkv = saved[0], &out = saved[1], &log_sum = saved[2];
    const auto numbers = context->saved_data["heads"].toIntVector();
    const HeadLayout heads{numbers[0], numbers[1], numbers[2]};
    const auto row = row_of(qkv, heads, numbers[3]);
    const auto grad_out = grads[0].contiguous();
    const auto grad_qkv = torch::empty_like(qkv);
    at::parallel_for(0, qkv.size(0) * heads.kv_heads, 1, [&](int64_t begin, int64_t end) {
      std::vector<float> scratch;
      const float* x = qkv.const_data_ptr<float>();
      float* g = grad_qkv.mutable_data_ptr<float>();
      for (int64_t task = begin; task < end; ++task) {
        const auto at = offsets_of(row, heads.kv_heads, task);
        loops::attention_backward(
            row, {x + at.q, x + at.k, x + at.v}, out.const_data_ptr<float>() + at.out,
            log_sum.const_data_ptr<float>() + at.log_sum, grad_out.const_data_ptr<float>() + at.out,
            {g + at.q, g + at.k, g + at.v}, scratch);
      }
    });
    return {grad_qkv, {}, {}};
  }
};

}  // namespace

torch::Tensor causal_attention_reference(const torch::Tensor& qkv_BTF, const HeadLayout& heads,
                                         int64_t window) {
  const auto parts = split_heads(qkv_BTF, heads);
  const int64_t share = heads.query_heads / heads.kv_heads;
  const auto k = parts[1].repeat_interleave(share, 1);
  const auto v = parts[2].repeat_interleave(share, 1);
  const auto hidden = visible_keys(qkv_BTF.size(1), window, qkv_BTF.device()).logical_not();
  const auto scores_BHTT = torch::matmul(parts[0], k.transpose(-2, -1))
                               .masked_fill(hidden, -std::numeric_limits<double>::infinity());
  return torch::matmul(torch::softmax(scores_BHTT, -1), v).transpose(1, 2).flatten(2);
}

torch::Tensor causal_attention(const torch::Tensor& qkv_BTF, const HeadLayout& heads,
                               int64_t window) {
  if (takes_fast_path(qkv_BTF)) return CausalAttention::apply(qkv_BTF, heads, window);
  if (qkv_BTF.scalar_type() == torch::kDouble) {
    return causal_attention_reference(qkv_BTF, heads, window);
  }
  return library_attention(qkv_BTF, heads, window);
}

}  // namespace windtunnel::kernels
