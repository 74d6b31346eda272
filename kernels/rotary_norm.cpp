#include "kernels/rotary_norm.h"

#include <torch/autograd.h>

#include "kernels/fast_path.h"
#include "kernels/loops/rotary_norm.h"
#include "kernels/rms_norm.h"

namespace windtunnel::kernels {
namespace {

struct RotaryNorm : torch::autograd::Function<RotaryNorm> {
  static loops::RotaryShape shape_of(const torch::Tensor& qkv, const RotaryTable& table,
                                     const HeadLayout& heads) {
    return {qkv.size(1),
            heads.query_heads,
            heads.kv_heads,
            heads.head_size,
            static_cast<float>(kNormEpsilon),
            table.cos.const_data_ptr<float>(),
            table.sin.const_data_ptr<float>()};
  }

  static torch::Tensor forward(torch::autograd::AutogradContext* context,
                               const torch::Tensor& given, const torch::Tensor& gain,
                               const torch::Tensor& cos, const torch::Tensor& sin,
                               const HeadLayout& heads, double scale) {
    const auto qkv = given.contiguous();
    const int64_t tokens = qkv.size(0) * qkv.size(1);
    const auto shape = shape_of(qkv, {cos, sin}, heads);
    const auto query_scale = static_cast<float>(gain.item<float>() * scale);
    const auto out = torch::empty_like(qkv);
    const auto inverse = torch::empty({tokens, heads.query_heads + heads.kv_heads}, qkv.options());
    at::parallel_for(0, tokens, rows_per_thread(qkv.size(2)), [&](int64_t begin, int64_t end) {
      loops::rotary_norm_forward(shape, begin, end, qkv.const_data_ptr<float>(), query_scale,
                                 out.mutable_data_ptr<float>(), inverse.mutable_data_ptr<float>());
    });
    context->save_for_backward({qkv, inverse, gain, cos, sin});
    context->saved_data["query_scale"] = static_cast<double>(query_scale);
    context->saved_data["scale"] = scale;
    context->saved_data["heads"] =
        std::vector<int64_t>{heads.query_heads, heads.kv_heads, heads.head_size};
    return out;
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list grads) {
    const auto saved = context->get_saved_variables();
    const auto &qkv = saved[0], &inverse = saved[1], &gain = saved[2];
    const auto numbers = context->saved_data["heads"].toIntVector();
    const auto shape = shape_of(qkv, {saved[3], saved[4]}, {numbers[0], numbers[1], numbers[2]});
    const auto query_scale = static_cast<float>(context->saved_data["query_scale"].toDouble());
    const auto grad_out = grads[0].contiguous();
    const auto grad_qkv = torch::empty_like(qkv);
    const int64_t tokens = qkv.size(0) * qkv.size(1);
    const int64_t grain = rows_per_thread(qkv.size(2));
    // One sum per fixed block of tokens, added in order: the same bits for any number of threads.
    std::vector<double> sums(static_cast<size_t>((tokens + grain - 1) / grain));
    at::parallel_for(0, static_cast<int64_t>(sums.size()), 1, [&](int64_t begin, int64_t end) {
      for (int64_t block = begin; block < end; ++block) {
        sums[static_cast<size_t>(block)] = loops::rotary_norm_backward(
            shape, block * grain, std::min(tokens, (block + 1) * grain),
            qkv.const_data_ptr<float>(), inverse.const_data_ptr<float>(),
            grad_out.const_data_ptr<float>(), query_scale, grad_qkv.mutable_data_ptr<float>());
      }
    });
    double sum = 0;
    for (const double part : sums) sum += part;
    const auto grad_gain = torch::full_like(gain, sum * context->saved_data["scale"].toDouble());
    return {grad_qkv, grad_gain, {}, {}, {}, {}};
  }
};

}  // namespace

RotaryTable rotary_table(int64_t tokens, int64_t head_size, double base) {
  const auto options = torch::TensorOptions(torch::kDouble);
  const auto exponents = torch::arange(head_size / 2, options) * (-2.0 / double(head_size));
  const auto angles = torch::outer(torch::arange(tokens, options), torch::pow(base, exponents));
  return {angles.cos(), angles.sin()};
}

torch::Tensor rotary_norm_reference(const torch::Tensor& qkv_BTF, const torch::Tensor& gain,
                                    const RotaryTable& table, const HeadLayout& heads,
                                    double scale) {
  const int64_t T = qkv_BTF.size(1), C = heads.head_size;
  const auto wide = qkv_BTF.scalar_type() == torch::kDouble ? torch::kDouble : torch::kFloat32;
  const auto options = torch::TensorOptions(qkv_BTF.device()).dtype(wide);
  const auto parts = qkv_BTF.unflatten(-1, {-1, C})
                         .split_with_sizes({heads.query_heads, heads.kv_heads, heads.kv_heads}, 2);
  const auto cos = table.cos.slice(0, 0, T).to(options).unsqueeze(1);
  const auto sin = table.sin.slice(0, 0, T).to(options).unsqueeze(1);
  const auto turn = [&](const torch::Tensor& x_BTHC) {
    const auto halves = x_BTHC.to(wide).chunk(2, -1);
    return rms_norm_reference(
        torch::cat({halves[0] * cos - halves[1] * sin, halves[0] * sin + halves[1] * cos}, -1));
  };
  const auto q = (turn(parts[0]) * (gain.to(wide) * scale)).to(qkv_BTF.scalar_type());
  const auto k = turn(parts[1]).to(qkv_BTF.scalar_type());
  return torch::cat({q, k, parts[2]}, 2).flatten(2);
}

torch::Tensor rotary_norm(const torch::Tensor& qkv_BTF, const torch::Tensor& gain,
                          const RotaryTable& table, const HeadLayout& heads, double scale) {
  if (takes_fast_path(qkv_BTF) && takes_fast_path(table.cos)) {
    return RotaryNorm::apply(qkv_BTF, gain, table.cos, table.sin, heads, scale);
  }
  return rotary_norm_reference(qkv_BTF, gain, table, heads, scale);
}

}  // namespace windtunnel::kernels
