#include "kernels/swiglu.h"

#include <torch/autograd.h>

#include "kernels/fast_path.h"
#include "kernels/loops/swiglu.h"

namespace windtunnel::kernels {
namespace {

struct SwiGlu : torch::autograd::Function<SwiGlu> {
  static torch::Tensor forward(torch::autograd::AutogradContext* context,
                               const torch::Tensor& given) {
    const auto gate_up = given.contiguous();
    const int64_t hidden = gate_up.size(-1) / 2, rows = gate_up.numel() / (2 * hidden);
    auto sizes = gate_up.sizes().vec();
    sizes.back() = hidden;
    const auto y = torch::empty(sizes, gate_up.options());
    at::parallel_for(0, rows, rows_per_thread(2 * hidden), [&](int64_t begin, int64_t end) {
      loops::swiglu_forward(gate_up.const_data_ptr<float>() + begin * 2 * hidden, nullptr,
                            end - begin, hidden, y.mutable_data_ptr<float>() + begin * hidden);
    });
    context->save_for_backward({gate_up});
    return y;
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list grads) {
    const auto gate_up = context->get_saved_variables()[0];
    const auto grad_y = grads[0].contiguous();
    const auto grad_x = torch::empty_like(gate_up);
    const int64_t hidden = gate_up.size(-1) / 2, rows = gate_up.numel() / (2 * hidden);
    at::parallel_for(0, rows, rows_per_thread(2 * hidden), [&](int64_t begin, int64_t end) {
      loops::swiglu_backward(gate_up.const_data_ptr<float>() + begin * 2 * hidden, nullptr,
                             grad_y.const_data_ptr<float>() + begin * hidden, end - begin, hidden,
                             grad_x.mutable_data_ptr<float>() + begin * 2 * hidden, nullptr);
    });
    return {grad_x};
  }
};

}  // namespace

torch::Tensor swiglu_reference(const torch::Tensor& gate_up) {
  const auto halves = gate_up.chunk(2, -1);
  return torch::silu(halves[0]) * halves[1];
}

torch::Tensor swiglu(const torch::Tensor& gate_up) {
  return takes_fast_path(gate_up) ? SwiGlu::apply(gate_up) : swiglu_reference(gate_up);
}

}  // namespace windtunnel::kernels
