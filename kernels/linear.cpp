#include "kernels/linear.h"

#include <torch/autograd.h>

#include "kernels/fast_path.h"
#include "kernels/product.h"

namespace windtunnel::kernels {
namespace {

Matrix rows_of(const torch::Tensor& contiguous) {
  return {contiguous.const_data_ptr<float>(), contiguous.size(-1)};
}

struct Linear : torch::autograd::Function<Linear> {
  static torch::Tensor forward(torch::autograd::AutogradContext* context,
                               const torch::Tensor& given, at::TensorList weights) {
    const auto x = given.contiguous();
    const auto stacked = weights.size() == 1 ? weights[0].contiguous() : torch::cat(weights);
    const int64_t inputs = x.size(-1), outputs = stacked.size(0), rows = x.numel() / inputs;
    auto sizes = x.sizes().vec();
    sizes.back() = outputs;
    const auto y = torch::empty(sizes, x.options());
    product_nt(rows, outputs, inputs, rows_of(x), rows_of(stacked), y.mutable_data_ptr<float>(),
               outputs);
    std::vector<int64_t> heights;
    for (const auto& weight : weights) heights.push_back(weight.size(0));
    context->save_for_backward({x, stacked});
    context->saved_data["heights"] = heights;
    return y;
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list grads) {
    const auto saved = context->get_saved_variables();
    const auto &x = saved[0], &stacked = saved[1];
    const auto grad_y = grads[0].contiguous();
    const int64_t inputs = x.size(-1), outputs = stacked.size(0), rows = x.numel() / inputs;
    const auto grad_x = torch::empty_like(x);
    product_nn(rows, inputs, outputs, rows_of(grad_y), rows_of(stacked),
               grad_x.mutable_data_ptr<float>(), inputs);
    const auto grad_stacked = torch::empty_like(stacked);
    product_tn(outputs, inputs, rows, rows_of(grad_y), rows_of(x),
               grad_stacked.mutable_data_ptr<float>(), inputs);
    torch::autograd::variable_list result = {grad_x};
    int64_t start = 0;
    for (const int64_t height : context->saved_data["heights"].toIntVector()) {
      result.push_back(grad_stacked.narrow(0, start, height));
      start += height;
    }
    return result;
  }
};

struct LinearAdd : torch::autograd::Function<LinearAdd> {
  static torch::Tensor forward(torch::autograd::AutogradContext* context,
                               const torch::Tensor& residual, const torch::Tensor& given_x,
                               const torch::Tensor& given_weight) {
    const auto x = given_x.contiguous(), weight = given_weight.contiguous();
    const int64_t inputs = x.size(-1), outputs = weight.size(0), rows = x.numel() / inputs;
    const auto y = residual.clone(at::MemoryFormat::Contiguous);
    add_product_nt(rows, outputs, inputs, rows_of(x), rows_of(weight), y.mutable_data_ptr<float>(),
                   outputs);
    context->save_for_backward({x, weight});
    return y;
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list grads) {
    const auto saved = context->get_saved_variables();
    const auto &x = saved[0], &weight = saved[1];
    const auto grad_y = grads[0].contiguous();
    const int64_t inputs = x.size(-1), outputs = weight.size(0), rows = x.numel() / inputs;
    const auto grad_x = torch::empty_like(x);
    product_nn(rows, inputs, outputs, rows_of(grad_y), rows_of(weight),
               grad_x.mutable_data_ptr<float>(), inputs);
    const auto grad_weight = torch::empty_like(weight);
    product_tn(outputs, inputs, rows, rows_of(grad_y), rows_of(x),
               grad_weight.mutable_data_ptr<float>(), inputs);
    return {grads[0], grad_x, grad_weight};
  }
};

}  // namespace

torch::Tensor linear_reference(const torch::Tensor& x, const std::vector<torch::Tensor>& weights) {
  const auto stacked = weights.size() == 1 ? weights[0] : torch::cat(weights);
  return torch::linear(x, stacked.to(x.scalar_type()));
}

torch::Tensor linear(const torch::Tensor& x, const std::vector<torch::Tensor>& weights) {
  if (takes_fast_path(x) && takes_fast_path(weights[0])) {
    return Linear::apply(x, at::TensorList(weights));
  }
  return linear_reference(x, weights);
}

torch::Tensor linear_add_reference(const torch::Tensor& residual, const torch::Tensor& x,
                                   const torch::Tensor& weight) {
  return residual + torch::linear(x, weight.to(x.scalar_type()));
}

torch::Tensor linear_add(const torch::Tensor& residual, const torch::Tensor& x,
                         const torch::Tensor& weight) {
  if (takes_fast_path(residual) && takes_fast_path(x) && takes_fast_path(weight)) {
    return LinearAdd::apply(residual, x, weight);
  }
  return linear_add_reference(residual, x, weight);
}

}  // namespace windtunnel::kernels
