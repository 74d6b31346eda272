#include "kernels/rms_norm.h"

#include <torch/autograd.h>

#include "kernels/fast_path.h"
#include "kernels/loops/rms_norm.h"

namespace windtunnel::kernels {
namespace {

struct RmsNorm : torch::autograd::Function<RmsNorm> {
  static torch::Tensor forward(torch::autograd::AutogradContext* context,
                               const torch::Tensor& given) {
    const auto x = given.contiguous();
    const int64_t width = x.size(-1), rows = x.numel() / std::max<int64_t>(1, width);
    const auto y = torch::empty_like(x);
    const auto scale = torch::empty({rows}, x.options());
    at::parallel_for(0, rows, rows_per_thread(width), [&](int64_t begin, int64_t end) {
      loops::rms_norm_forward(x.const_data_ptr<float>() + begin * width, end - begin, width,
                              static_cast<float>(kNormEpsilon),
                              y.mutable_data_ptr<float>() + begin * width,
                              scale.mutable_data_ptr<float>() + begin);
    });
    context->save_for_backward({y, scale});
    return y;
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list grads) {
    const auto saved = context->get_saved_variables();
    const auto &y = saved[0], &scale = saved[1];
    const auto grad_y = grads[0].contiguous();
    const auto grad_x = torch::empty_like(y);
    const int64_t width = y.size(-1);
    at::parallel_for(0, scale.numel(), rows_per_thread(width), [&](int64_t begin, int64_t end) {
      loops::rms_norm_backward(y.const_data_ptr<float>() + begin * width,
                               scale.const_data_ptr<float>() + begin,
                               grad_y.const_data_ptr<float>() + begin * width, end - begin, width,
                               grad_x.mutable_data_ptr<float>() + begin * width);
    });
    return {grad_x};
  }
};

}  // namespace

torch::Tensor rms_norm_reference(const torch::Tensor& x) {
  const auto wide = x.scalar_type() == torch::kDouble ? x : x.to(torch::kFloat32);
  const auto scale = wide.square().mean(-1, /*keepdim=*/true).add(kNormEpsilon).rsqrt();
  return (wide * scale).to(x.scalar_type());
}

torch::Tensor rms_norm(const torch::Tensor& x) {
  return takes_fast_path(x) ? RmsNorm::apply(x) : rms_norm_reference(x);
}

}  // namespace windtunnel::kernels
