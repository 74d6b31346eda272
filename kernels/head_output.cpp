#include "kernels/head_output.h"

#include <torch/autograd.h>

#include "kernels/fast_path.h"
#include "kernels/loops/head_output.h"

namespace windtunnel::kernels {
namespace {

struct HeadOutput : torch::autograd::Function<HeadOutput> {
  static torch::Tensor forward(torch::autograd::AutogradContext* context,
                               const torch::Tensor& given_y, const torch::Tensor& given_values,
                               const std::optional<torch::Tensor>& given_gates,
                               const HeadLayout& heads, bool exclusive) {
    const auto y = given_y.contiguous(), values = given_values.contiguous();
    const auto gates = given_gates ? given_gates->contiguous() : torch::Tensor();
    const loops::HeadOutputShape shape{heads.query_heads, heads.kv_heads, heads.head_size,
                                       exclusive};
    const auto out = torch::empty_like(y);
    at::parallel_for(
        0, y.size(0) * y.size(1), rows_per_thread(y.size(2)), [&](int64_t begin, int64_t end) {
          loops::head_output_forward(shape, begin, end, y.const_data_ptr<float>(),
                                     values.const_data_ptr<float>(),
                                     gates.defined() ? gates.const_data_ptr<float>() : nullptr,
                                     out.mutable_data_ptr<float>());
        });
    context->save_for_backward({y, values, gates});
    context->saved_data["heads"] =
        std::vector<int64_t>{heads.query_heads, heads.kv_heads, heads.head_size};
    context->saved_data["exclusive"] = exclusive;
    return out;
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list grads) {
    const auto saved = context->get_saved_variables();
    const auto &y = saved[0], &values = saved[1], &gates = saved[2];
    const auto numbers = context->saved_data["heads"].toIntVector();
    const bool exclusive = context->saved_data["exclusive"].toBool();
    const loops::HeadOutputShape shape{numbers[0], numbers[1], numbers[2], exclusive};
    const auto grad_out = grads[0].contiguous();
    const auto grad_y = torch::empty_like(y);
    const auto grad_values = exclusive ? torch::empty_like(values) : torch::Tensor();
    const auto grad_gates = gates.defined() ? torch::empty_like(gates) : torch::Tensor();
    at::parallel_for(
        0, y.size(0) * y.size(1), rows_per_thread(y.size(2)), [&](int64_t begin, int64_t end) {
          loops::head_output_backward(
              shape, begin, end, y.const_data_ptr<float>(), values.const_data_ptr<float>(),
              gates.defined() ? gates.const_data_ptr<float>() : nullptr,
              grad_out.const_data_ptr<float>(), grad_y.mutable_data_ptr<float>(),
              exclusive ? grad_values.mutable_data_ptr<float>() : nullptr,
              gates.defined() ? grad_gates.mutable_data_ptr<float>() : nullptr);
        });
    return {grad_y, grad_values, grad_gates, {}, {}};
  }
};

}  // namespace

torch::Tensor head_output_reference(const torch::Tensor& y_BTE, const torch::Tensor& values_BTV,
                                    const torch::Tensor& gates_BTH, const HeadLayout& heads,
                                    bool exclusive) {
  const auto wide = y_BTE.scalar_type() == torch::kDouble ? torch::kDouble : torch::kFloat32;
  // [B, T, G, H / G, C], so that the value of a group meets all of its heads.
  auto y = y_BTE.to(wide).unflatten(
      -1, {heads.kv_heads, heads.query_heads / heads.kv_heads, heads.head_size});
  if (exclusive) {
    const auto value = values_BTV.to(wide).unflatten(-1, {heads.kv_heads, 1, heads.head_size});
    const auto direction = value / value.norm(2, -1, /*keepdim=*/true).clamp_min(1e-12);
    y = y - (y * direction).sum(-1, /*keepdim=*/true) * direction;
  }
  auto heads_BTHC = y.flatten(2, 3);
  if (gates_BTH.defined()) heads_BTHC = heads_BTHC * gates_BTH.to(wide).unsqueeze(-1);
  return heads_BTHC.flatten(2).to(y_BTE.scalar_type());
}

torch::Tensor head_output(const torch::Tensor& y_BTE, const torch::Tensor& values_BTV,
                          const torch::Tensor& gates_BTH, const HeadLayout& heads, bool exclusive) {
  if (!exclusive && !gates_BTH.defined()) return y_BTE;
  if (takes_fast_path(y_BTE) && takes_fast_path(values_BTV)) {
    return HeadOutput::apply(y_BTE, values_BTV,
                             gates_BTH.defined() ? std::optional(gates_BTH) : std::nullopt, heads,
                             exclusive);
  }
  return head_output_reference(y_BTE, values_BTV, gates_BTH, heads, exclusive);
}

}  // namespace windtunnel::kernels
